# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Loads what a process of the stage `python` computes: a function of a Python file, or a model in ONNX."""

import inspect
import linecache
import os
import sys
import traceback
import types


class Refusal(Exception):
    """The file cannot be used; `line` and `column` count from 1, 0 is unknown."""

    def __init__(self, what, file="", line=0, column=0):
        super().__init__(what)
        self.what, self.file, self.line, self.column = what, file, line or 0, column or 0


def load(job):
    """The function. Raises Refusal."""
    try:
        import numpy  # noqa: F401  the file needs it, and so do the arrays
    except ImportError as error:
        raise Refusal(f"{sys.executable} has no NumPy ({error}): `sudo apt install python3-numpy` for /usr/bin/python3, "
                      "or name an `interpreter` that has it") from None
    return _model(job) if job["kind"] == "onnx" else _function(job)


def parameters(function, job):
    """Names of the arguments after the arrays and `meta`, each with `!` if it needs a value; `**` if it takes any.
    Nothing if the function does not say."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return ["**"]
    names = []
    taken = job["inputs"] + 1
    for p in signature.parameters.values():
        if p.kind == p.VAR_KEYWORD:
            names.append("**")
        elif p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and taken > 0:
            taken -= 1
        elif p.kind == p.VAR_POSITIONAL:
            taken = 0
        else:
            names.append(p.name + ("!" if p.default is p.empty else ""))
    if taken > 0:
        line = getattr(getattr(function, "__code__", None), "co_firstlineno", 0)
        raise Refusal(f"{job['function']} takes {job['inputs'] + 1 - taken} arrays; expected "
                      f"{job['function']}({_arguments(job)}, …)", job["file"], line)
    return names


def _arguments(job):
    return "x, meta" if job["inputs"] == 1 else "x0, x1, meta"


def _place(error, job):
    """File and line of the innermost call in the user's folder, or of the file itself."""
    frames = [f for f in traceback.extract_tb(error.__traceback__)
              if f.filename == job["file"] or os.path.dirname(f.filename) == job["folder"]]
    return (frames[-1].filename, frames[-1].lineno) if frames else (job["file"], 0)


def _compiled(job):
    text = "\n" * (job["first_line"] - 1) + job["text"]
    linecache.cache[job["file"]] = (len(text), None, text.splitlines(True), job["file"])
    try:
        return compile(text, job["file"], "exec", dont_inherit=True)
    except SyntaxError as error:
        raise Refusal(f"{type(error).__name__}: {error.msg}", job["file"], error.lineno, error.offset) from None
    except ValueError as error:
        raise Refusal(str(error), job["file"]) from None


def _function(job):
    code = _compiled(job)
    module = types.ModuleType(os.path.splitext(os.path.basename(job["file"]))[0] or "code")
    module.__file__ = job["file"]
    sys.modules.setdefault(module.__name__, module)
    sys.path.insert(0, job["folder"])
    try:
        exec(code, module.__dict__)  # noqa: S102  that is what the stage is for
    except SyntaxError as error:  # of a module that it imports
        raise Refusal(f"{type(error).__name__}: {error.msg}", error.filename or job["file"], error.lineno,
                      error.offset) from None
    except BaseException as error:
        raise Refusal(f"{type(error).__name__}: {error}", *_place(error, job)) from None
    function = module.__dict__.get(job["function"])
    if callable(function):
        return function
    if function is not None:
        raise Refusal(f"{job['function']} is a {type(function).__name__}, not a function", job["file"])
    known = [n for n, v in module.__dict__.items() if inspect.isfunction(v) and v.__module__ == module.__name__]
    raise Refusal(f"there is no function {job['function']}" + (f"; there are: {', '.join(known)}" if known else ""),
                  job["file"])


def _model(job):
    """A function that runs the model. Its first input gets the samples as f32, complex ones with a last dimension of 2;
    further inputs get the parameters of their names. The result is its first output."""
    try:
        import onnxruntime
    except ImportError as error:
        raise Refusal(f"{sys.executable} has no ONNX Runtime ({error}): `pip install onnxruntime` in a virtual environment, "
                      "and name its `interpreter`") from None
    import numpy as np
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(job["path"], options, providers=["CPUExecutionProvider"])
        first, *others = [i.name for i in session.get_inputs()]
        output = session.get_outputs()[0].name
    except Exception as error:
        raise Refusal(f"{type(error).__name__}: {error}", job["file"]) from None

    def run(x, meta, **parameters):
        if x.dtype.kind == "c":
            x = np.ascontiguousarray(x).view(np.float32).reshape(*x.shape, 2)
        feed = {name: np.asarray(value, np.float32) for name, value in parameters.items()}
        return session.run([output], {first: np.ascontiguousarray(x, np.float32), **feed})[0]

    run.__signature__ = inspect.Signature(
        [inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in ("x", "meta", *others)
         if n.isidentifier()])
    return run
