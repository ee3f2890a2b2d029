# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Several users send to an antenna array on the same carriers: plane waves from around x, the direction that the arrays
face, plus scattered waves. Places are [antenna][xyz] in metres, channels [antenna][user]."""

import math

import numpy as np

from apsm_model import BITS, constellation

WAVELENGTH = 299_792_458 / 2.442e9


def circle(antennas=16, radius=0.065):
    """Places [antenna][xyz] in metres, upright."""
    angle = 2 * np.pi * np.arange(antennas) / antennas
    return radius * np.stack([0 * angle, np.cos(angle), np.sin(angle)], axis=1)


def panel(rows=4, columns=4, spacing=WAVELENGTH / 2):
    """The same for rows and columns."""
    z, y = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")
    return spacing * np.stack([0 * y.ravel(), y.ravel() - (columns - 1) / 2, z.ravel() - (rows - 1) / 2], axis=1)


def gaussian(rng, *shape):
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)) / math.sqrt(2)


def users_over(spread, users, rng):
    """(azimuth, elevation) [user] in degrees: about evenly over the spread."""
    return np.linspace(-spread / 2, spread / 2, users) + rng.uniform(-1, 1, users), rng.uniform(-5, 5, users)


def waves(places, azimuth, elevation):
    """[antenna][user]"""
    azimuth, elevation = np.radians(azimuth), np.radians(elevation)
    towards = np.stack([np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation)])
    return np.exp(2j * np.pi / WAVELENGTH * places @ towards)


def channels(places, spread, users, rng, rice_db=12, power_db=0, moves=(0,)):
    """h [frame][antenna][user] of mean power 1; `power_db`: of each user on top of that; `moves`: position of
    the users in degrees in each frame, relative to the first. Scattered waves do not move."""
    azimuth, elevation = users_over(spread, users, rng)
    direct, rice = np.exp(2j * np.pi * rng.random(users)), 10 ** (rice_db / 10)
    scattered = gaussian(rng, len(places), users)
    h = [np.sqrt(rice / (rice + 1)) * direct * waves(places, azimuth + move, elevation)
         + scattered / np.sqrt(rice + 1) for move in moves]
    return np.array(h) * 10 ** (np.broadcast_to(power_db, users) / 20)


def transmit(h, modulation, noise, count, rng):
    """(received [t][antenna], sent [t][user], its symbols' numbers) over h [antenna][user]."""
    numbers = rng.integers(0, 2 ** BITS[modulation], (count, h.shape[1]))
    sent = constellation(modulation)[numbers]
    return sent @ h.T + math.sqrt(noise) * gaussian(rng, count, len(h)), sent, numbers


def bits_of(numbers, modulation):
    """[t][user] → [user][t][bit], the highest first."""
    return (numbers.T[..., None] >> np.arange(BITS[modulation] - 1, -1, -1) & 1).astype(np.uint8)
