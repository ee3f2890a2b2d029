# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""LDPC words in double precision, written from the definitions: the code of 802.16e, rate 1/2, n = 2304."""

import numpy as np

Z, N, K = 96, 2304, 1152
# One row of blocks each, `shift@column`: row i takes element (i + shift) mod Z of the block of columns.
CODE = """94@1 73@2 55@8 83@9 7@12 0@13, 27@1 22@5 79@6 9@7 12@11 0@13 0@14, 24@3 22@4 81@5 33@7 0@11 0@14 0@15,
          61@0 47@2 65@8 25@9 0@15 0@16, 39@2 84@6 41@9 72@10 0@16 0@17, 46@4 40@5 82@7 79@11 0@12 0@17 0@18,
          95@2 53@3 14@9 18@10 0@18 0@19, 11@1 73@2 2@6 47@9 0@19 0@20, 12@0 83@4 24@5 43@7 51@11 0@20 0@21,
          94@5 59@7 70@10 72@11 0@21 0@22, 7@2 65@3 39@8 49@9 0@22 0@23, 43@0 66@5 41@7 26@11 7@12 0@23"""
# For each row of blocks: the elements that check i sums, [edge][i].
ROWS = [np.array([int(column) * Z + (np.arange(Z) + int(shift)) % Z
                  for shift, column in (entry.split("@") for entry in row.split())]) for row in CODE.split(",")]


def sums(word, row):
    """The sum of each check of a row of blocks: [word][i]."""
    return word[:, ROWS[row]].sum(1) % 2


def holds(word):
    """For each word: whether all checks hold."""
    return ~np.any([sums(word, row).any(1) for row in range(len(ROWS))], axis=0)


def encode(information):
    """[word][K] to [word][N]: what makes every check zero. The first parity block by all rows' sum, then row by row."""
    word = np.zeros((len(information), N), np.uint8)
    word[:, :K] = information
    # Of the shifts 7, 0 and 7 in block 12, the sum of all rows leaves 0.
    word[:, K:K + Z] = sum(sums(word, row) for row in range(len(ROWS))) % 2
    for row in range(len(ROWS) - 1):
        word[:, ROWS[row][-1]] = sums(word, row)
    assert holds(word).all()
    return word


def decode(llr, iterations=15, scale=0.75, early_stop=True):
    """LLRs [word][N] to information bits [word][K], iterations made [word], whether all checks hold [word]."""
    with np.errstate(invalid="ignore"):
        posterior = np.clip(np.nan_to_num(np.asarray(llr, float)), -1e30, 1e30)
    messages = [np.zeros((len(posterior), *at.shape)) for at in ROWS]
    made = np.zeros(len(posterior), int)
    good = np.zeros(len(posterior), bool)
    for _ in range(iterations):
        words = np.flatnonzero(~(good & early_stop))
        for at, message in zip(ROWS, messages):
            q = posterior[words[:, None, None], at] - message[words]
            size, sign = np.minimum(np.abs(q), 1e30), np.where(q < 0, -1, 1)
            least, second = np.partition(size, 1, axis=1)[:, :2].swapaxes(0, 1)[..., None, :]
            message[words] = scale * sign * sign.prod(1, keepdims=True) * np.where(size == least, second, least)
            posterior[words[:, None, None], at] = q + message[words]
        made[words] += 1
        good[words] = holds(posterior[words] < 0)
    return (posterior[:, :K] < 0).astype(np.uint8), made, good


def sent(words, ebn0_db, rng):
    """Random bits [word][K], and their LLRs [word][N] for BPSK of rate one half in noise."""
    bits = rng.integers(0, 2, (words, K)).astype(np.uint8)
    variance = 10 ** (-ebn0_db / 10)
    y = 1.0 - 2.0 * encode(bits) + np.sqrt(variance) * rng.standard_normal((words, N))
    return bits, 2 * y / variance
