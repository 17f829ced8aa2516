#!/usr/bin/env python3
"""Saves the Q, K and V that attention gets inside a PyTorch model, for `sqrtdk inspect`, and the
gradients of a training step, for `sqrtdk gradcheck`. In a script of yours,

    from dump_attention import dump         # this file; it needs PyTorch alone
    with dump("results/dump"):
        model(...)

or around a script as it is:

    python3 scripts/dump_attention.py results/dump [--gradients] -- script.py its arguments

What is seen: calls of torch.nn.functional.scaled_dot_product_attention (PyTorch 2.0 and later, also
where a module imported it by name), and in Hugging Face transformers the eager functions; there the
attention functions by name ("sdpa", ...) tell of softcapping too. Not seen: fused kernels that are
called directly (flash_attn, xformers), compiled or scripted models, attention written out by hand.

What is saved: the calls of the first forward pass (or of --forwards N, or N --calls, or of some
--layers), numbered in their order from 0. A forward pass ends when a module that called attention
does so again in another call of the outermost module, so that a loop over blocks counts like a
model. Attention outside any module tells no layers: there give --calls.

  layerN_q.npy, _k, _v    float64 as it is, all else as float32, which holds bfloat16 and float16
  layerN_allowed.npy      1 may attend, 0 may not, once for all layers that share it; none for a
                          plain causal mask or no mask
  layerN_mask.npy         a mask that adds numbers to logits, which inspect does not know
  layerN_do, _dq, _dk, _dv    with --gradients, at the first backward pass
  dump.json               of each call: module, scale, mask, format, dropout, and the two numbers
                          below
  inspect.sh, gradcheck.sh    the commands that read it; gradcheck's where attention is all it was

`difference` is how far softmax(scale Q K^T) V under the saved mask is from what the model's own
attention returned, over the largest |V| (first and last head, of long ones some rows); `rounding`
is how far rounding may take it. Beyond that something else was computed, and a line says so.
"""
import argparse
import collections
import ctypes
import json
import math
import os
import runpy
import shlex
import shutil
import sys
import types

try:
    import torch
except ImportError as error:
    sys.exit(f"dump_attention: {sys.executable}: {error}; expected the Python that runs the model")

FUNCTION = "scaled_dot_product_attention"
EAGER = "eager_attention_forward"
MASKED = -1e4  # added to masked logits: GPT-2's number, or less; e^-10000 is 0 in any format
UNSEEN = (
    "no call of attention was seen: expected scaled_dot_product_attention of PyTorch 2.0 or later, "
    'or transformers with attn_implementation="sdpa" or "eager"; flash_attn, xformers and compiled '
    "models go past it"
)
COMPILED = "torch.compile: compiled code goes past this; dump the model before it is compiled"
UNKNOWN = {"softcap": "logit softcapping", "s_aux": "attention with sinks"}  # in transformers
POSITIONS = ("attn_mask", "dropout_p", "is_causal", "scale", "enable_gqa")


class DumpError(Exception):
    """One line: what cannot be done, and what was expected."""


def say(text):
    print("dump_attention: " + text, file=sys.stderr)


def compiling():
    """Whether torch.compile reads this code instead of running it."""
    for module in (getattr(torch, "compiler", None), sys.modules.get("torch._dynamo")):
        if hasattr(module, "is_compiling"):
            return bool(module.is_compiling())
    return False


def autocast_format(device):
    """The format that autocast rounds to, or None where it is off."""
    if hasattr(torch, "get_autocast_dtype"):
        on = torch.is_autocast_enabled(device.type)
        return torch.get_autocast_dtype(device.type) if on else None
    if device.type == "cpu":
        return torch.get_autocast_cpu_dtype() if torch.is_autocast_cpu_enabled() else None
    return torch.get_autocast_gpu_dtype() if torch.is_autocast_enabled() else None


def format_name(dtype):
    return str(dtype).replace("torch.", "")


def loaded_names():
    """The names in each module that may call attention; of PyTorch's own that is one."""
    modules = [(n, m) for n, m in list(sys.modules.items()) if isinstance(m, types.ModuleType)]
    mine = ("torch.nn.functional",)
    return {n: vars(m) for n, m in modules if n in mine or not n.startswith("torch.")}


# ---- Files -------------------------------------------------------------------------------------


def saved_format(x):
    return x.dtype if x.dtype in (torch.bool, torch.float64) else torch.float32


def saved_bytes(x):
    return x.numel() * {torch.bool: 1, torch.float64: 8, torch.float32: 4}[saved_format(x)]


def write_npy(path, x, mode="xb"):
    """.npy of version 1.0, in this machine's byte order, without NumPy."""
    x = x.detach().to("cpu", saved_format(x)).contiguous()
    order = "<" if sys.byteorder == "little" else ">"
    kind = {torch.bool: "|b1", torch.float64: order + "f8", torch.float32: order + "f4"}[x.dtype]
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {tuple(x.shape)}, }}"
    head += " " * (-(10 + len(head) + 1) % 64) + "\n"
    with open(path, mode) as file:
        file.write(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode("latin-1"))
        file.write((ctypes.c_char * (x.numel() * x.element_size())).from_address(x.data_ptr()))


def as_heads(x):
    """[..,H,T,d] as [B,H,T,d]; fewer dimensions as they are."""
    return x.reshape(-1, *x.shape[-3:]) if x.dim() > 4 else x


# ---- Masks -------------------------------------------------------------------------------------


def triangle(queries, keys, offset, device):
    return torch.ones(queries, keys, dtype=torch.bool, device=device).tril(offset)


def visible(mask, causal, q, k):
    """Which keys a query may see, [B or 1,H or 1,Tq,Tk], and if the mask adds other numbers."""
    queries, keys = q.shape[-2], k.shape[-2]
    if mask is None:
        mask = torch.ones(1, 1, dtype=torch.bool, device=q.device)
    mask = mask[..., :keys]
    adds = False
    if mask.dtype != torch.bool:
        allowed = mask > MASKED
        adds = bool((mask.masked_fill(~allowed, 0) != 0).any())
        mask = allowed
    if q.dim() > 4:
        mask = mask.expand(*q.shape[:-2], -1, -1)
    mask = as_heads(mask)
    mask = mask.reshape((1,) * (4 - mask.dim()) + tuple(mask.shape)).expand(-1, -1, queries, keys)
    if causal:
        mask = mask & triangle(queries, keys, 0, q.device)
    for dim in (0, 1):
        if bool((mask == mask.narrow(dim, 0, 1)).all()):
            mask = mask.narrow(dim, 0, 1)
    return mask, adds


def mask_word(mask):
    """What --mask calls it, or None where it takes a file."""
    if mask.shape[0] > 1 or mask.shape[1] > 1:
        return None
    queries, keys = mask.shape[-2:]
    if bool(mask.all()):
        return "none"
    for word, offset in (("causal-top-left", 0), ("causal-bottom-right", keys - queries)):
        if torch.equal(mask[0, 0], triangle(queries, keys, offset, mask.device)):
            return word
    return None


def mask_array(mask, q):
    """The mask in a shape that --allowed takes."""
    if mask.shape[1] > 1 and q.dim() >= 4:
        return mask.expand(as_heads(q).shape[0], -1, -1, -1)
    for dim in (0, 0) if mask.shape[0] == 1 else (1,):
        if mask.shape[dim] == 1:
            mask = mask.squeeze(dim)
    return mask


# ---- Attention again, from what is saved -------------------------------------------------------


def difference(q, k, v, mask, scale, out, dtype):
    """How far the output is from that of the saved numbers, over the largest |V|; and how far
    rounding may take it."""
    q, k, v, out = (as_heads(x.detach()) for x in (q, k, v, out))
    q, k, v, out = (x.reshape((1,) * (4 - x.dim()) + tuple(x.shape)) for x in (q, k, v, out))
    some = slice(None, None, 1 + q.shape[-2] // 256)  # rows: a long head's matrix is large
    worst = logits = 0.0
    for b, h in ((0, 0), (q.shape[0] - 1, q.shape[1] - 1)):
        of = h // (q.shape[1] // k.shape[1])
        wide = torch.float64 if q.dtype == torch.float64 else torch.float32
        z = q[b, h, some].to(wide) @ k[b, of].to(wide).T * scale
        seen = mask[b if mask.shape[0] > 1 else 0, h if mask.shape[1] > 1 else 0, some]
        alive = seen.any(-1)  # a row that sees no key is something else in each kernel
        z = z.masked_fill(~seen, -math.inf)[alive]
        if z.numel() == 0:
            continue
        apart = torch.softmax(z, -1) @ v[b, of].to(wide) - out[b, h, some][alive].to(wide)
        worst = max(worst, float(apart.abs().max()) / (float(v.abs().max()) or 1))
        logits = max(logits, float(z[z > -math.inf].abs().max()))
    # Each logit off by some units of its last place moves a weight by as much, relative; so do the
    # roundings of weights and sums, whatever their order.
    return worst, (8 + 4 * logits) * torch.finfo(dtype).eps


# What a call was given: causal, those to try until one gives the output; scale, None: 1/sqrt(d_k);
# transposed, the output is [B,T,H,d].
Options = collections.namedtuple("Options", "mask causal scale dropout transposed")


# ---- The dump ----------------------------------------------------------------------------------


class dump:
    """A context; see this file's head. layers: numbers to keep; calls: how many at most."""

    def __init__(self, folder, forwards=1, calls=None, layers=None, gradients=False):
        self.folder, self.forwards, self.calls = os.fspath(folder), forwards, calls
        self.layers, self.gradients = layers, gradients
        self.entries, self.masks, self.said = [], {}, set()
        self.hooks, self.undo, self.ours = [], [], set()
        self.stack, self.outermost, self.known = [], 0, 0
        self.forward, self.layer, self.seen = 0, 0, {}
        self.inner, self.asked, self.open = False, [], False

    def __enter__(self):
        there = os.path.exists(self.folder)
        if there and (not os.path.isdir(self.folder) or os.listdir(self.folder)):
            raise DumpError(f"{self.folder}: is there already; expected a new or an empty folder")
        self.function = getattr(torch.nn.functional, FUNCTION, None)
        self.open = True
        every = torch.nn.modules.module
        self.hooks = [
            every.register_module_forward_pre_hook(self._enter_module),
            every.register_module_forward_hook(self._leave_module),
        ]
        self._wrap()
        return self

    def __exit__(self, kind, error, trace):
        self.open = False
        for hook in self.hooks:
            hook.remove()
        self._unwrap()
        if self.entries:
            self._finish()
        elif kind is None or kind is SystemExit:
            raise DumpError(UNSEEN)

    def _warn(self, text):
        if text not in self.said:
            say(text)
        self.said.add(text)

    # -- What is wrapped -------------------------------------------------------------------------

    def _put(self, names, name, wrapper):
        self.undo.append((names, name, names[name]))
        self.ours.add(wrapper)
        names[name] = wrapper

    def _wrap(self):
        """Wraps what is loaded by now; again when a model starts and modules have come."""
        self.known = len(sys.modules)
        loaded = loaded_names()
        for module, names in loaded.items():
            for name, value in list(names.items()):
                if self.function is not None and value is self.function:
                    self._put(names, name, self._attention)
            eager = names.get(EAGER)
            if module.startswith("transformers.models.") and eager and eager not in self.ours:
                self._put(names, EAGER, self._interface("eager", eager))
        table = loaded.get("transformers.modeling_utils", {}).get("ALL_ATTENTION_FUNCTIONS")
        for name in list(table or ()):
            if table[name] not in self.ours:
                self._put(table, name, self._interface(name, table[name]))

    def _unwrap(self):
        for names, name, original in reversed(self.undo):
            names[name] = original
        for names in loaded_names().values():  # imported by name while it was wrapped
            for name, value in list(names.items()):
                if type(value) is types.MethodType and value == self._attention:
                    names[name] = self.function

    # -- Whose call it is ------------------------------------------------------------------------

    def _enter_module(self, module, _):
        if module in self.stack:  # left over from a call that raised
            self.stack.clear()
        if not self.stack:
            self.outermost += 1
            if len(sys.modules) != self.known:
                self._wrap()
        if type(module).__name__ == "OptimizedModule":
            self._warn(COMPILED)
        self.stack.append(module)

    def _leave_module(self, module, _, __):
        while self.stack and self.stack.pop() is not module:
            pass

    def _next(self):
        """The forward pass and number of this call, or None where it is not wanted."""
        caller = self.stack[-1] if self.stack else None
        if caller is not None and self.seen.get(caller, self.outermost) != self.outermost:
            self.forward, self.layer = self.forward + 1, 0
            self.seen.clear()
        self.seen[caller] = self.outermost
        layer, self.layer = self.layer, self.layer + 1
        full = self.calls is not None and len(self.entries) >= self.calls
        if self.forward >= self.forwards or full or (self.layers and layer not in self.layers):
            return None
        return self.forward, layer

    # -- The wrappers ----------------------------------------------------------------------------

    def _watched(self, *inputs):
        """The same tensors, as views whose gradients are those of this call alone."""
        if not self.gradients or not torch.is_grad_enabled():
            return inputs
        views = (x.view_as(x) if x.requires_grad else x.detach() for x in inputs)
        return tuple(x if x.requires_grad else x.requires_grad_() for x in views)

    def _passes(self):
        if self.open and compiling():
            self._warn(COMPILED)
            return True
        return not self.open

    def _attention(self, query, key, value, *args, **given):
        self.inner = True
        place = None if self._passes() else self._next()
        if place is None:
            return self.function(query, key, value, *args, **given)
        options = dict(zip(POSITIONS, args), **given)
        q, k, v = self._watched(query, key, value)
        out = self.function(q, k, v, *args, **given)
        how = Options(
            options.get("attn_mask"), [bool(options.get("is_causal"))], options.get("scale"),
            options.get("dropout_p"), False,
        )  # fmt: skip
        self._save(place, q, k, v, out, how)
        return out

    def _interface(self, name, original):
        """An attention function of transformers: (module, Q, K, V, mask, scaling=, dropout=, ...)
        gives the output, [B,T,H,d], and perhaps weights."""

        def attention(module, query, key, value, attention_mask=None, *args, **given):
            if self._passes():
                return original(module, query, key, value, attention_mask, *args, **given)
            self.asked = [UNKNOWN[n] for n in UNKNOWN if given.get(n) is not None]
            self.inner = False
            q, k, v = self._watched(query, key, value) if name == "eager" else (query, key, value)
            result = original(module, q, k, v, attention_mask, *args, **given)
            if not self.inner and name != "eager":
                self._warn(
                    f'attention "{name}" is not seen: give the model attn_implementation="sdpa" '
                    'or "eager"'
                )
            place = self._next() if not self.inner and name == "eager" else None
            if place is not None:
                # some of these functions mask what is causal themselves, where no mask is given
                causal = [False, True] if attention_mask is None else [False]
                scale = args[0] if args else given.get("scaling")
                how = Options(attention_mask, causal, scale, given.get("dropout"), True)
                self._save(place, q, k, v, result[0], how)
            self.asked = []
            return result

        return attention

    # -- Saving ----------------------------------------------------------------------------------

    def _file(self, place, name):
        forward, layer = place
        return (f"forward{forward}_" if forward else "") + f"layer{layer}_{name}.npy"

    def _write(self, name, x):
        write_npy(os.path.join(self.folder, name), x)

    def _calls_ahead(self):
        """How many calls will be saved: the outermost module's parts of the caller's type."""
        layers = 1
        if self.stack:
            layers = sum(type(m) is type(self.stack[-1]) for m in self.stack[0].modules())
        layers = len([n for n in range(layers) if not self.layers or n in self.layers]) or 1
        return min(layers * self.forwards, self.calls or layers * self.forwards)

    def _announce(self, q, k, v, out):
        one = saved_bytes(q) + saved_bytes(k) + saved_bytes(v)
        one = (2 * one + saved_bytes(out) if self.gradients else one) / 1e6
        calls = self._calls_ahead()
        say(f"{self.folder}: {calls} x {one:.3g} MB = some {calls * one:.3g} MB, and the masks")
        above = os.path.dirname(os.path.abspath(self.folder))
        while not os.path.isdir(above):
            above = os.path.dirname(above)
        free = shutil.disk_usage(above).free / 1e6
        if calls * one > free:
            raise DumpError(
                f"{self.folder}: {free:.3g} MB are free; expected {calls * one:.3g}, or --layers"
            )
        os.makedirs(self.folder, exist_ok=True)

    def _save(self, place, q, k, v, out, how):
        with torch.no_grad():
            if not self.entries:
                self._announce(q, k, v, out)
            entry, adds = self._entry(place, q, k, v, out, how)
            for name, x in (("q", q), ("k", k), ("v", v), ("mask", how.mask if adds else None)):
                if x is not None:
                    entry["files"][name] = self._file(place, name)
                    self._write(entry["files"][name], as_heads(x))
        self.entries.append(entry)
        if self.gradients and out.requires_grad:
            for name, x in (("dq", q), ("dk", k), ("dv", v), ("do", out)):
                x.register_hook(self._gradient(entry, place, name, how.transposed and name == "do"))

    def _entry(self, place, q, k, v, out, how):
        """What dump.json says of a call, and whether its mask adds other numbers."""
        cast = autocast_format(q.device)
        dtype = q.dtype if cast is None else cast
        scale = 1 / math.sqrt(q.shape[-1]) if how.scale is None else float(how.scale)
        shown = out.detach().transpose(-3, -2) if how.transposed else out.detach()
        for causal in how.causal:
            seen, adds = visible(how.mask, causal, q, k)
            apart, rounding = difference(q, k, v, seen, scale, shown, dtype)
            if apart <= rounding:
                break
        caller = self.stack[-1] if self.stack else None
        names = self.stack[0].named_modules() if self.stack else ()
        entry = {
            "forward": place[0],
            "layer": place[1],
            "module": next((n for n, m in names if m is caller), None) or type(caller).__name__,
            "q": list(q.shape),
            "k": list(k.shape),
            "v": list(v.shape),
            "computed_in": format_name(dtype),
            "scale": scale,
            "mask": self._mask(place, seen, q),
            "dropout": how.dropout or 0.0,
            "difference": apart,
            "rounding": rounding,
            "notes": self._notes(place[1], adds, how.dropout or 0.0, apart, rounding),
            "files": {},
        }
        return entry, adds

    def _mask(self, place, seen, q):
        word = mask_word(seen)
        if word:
            return word
        array = mask_array(seen, q).cpu()  # layers may be on different devices
        for name, other in self.masks.items():
            if other.shape == array.shape and torch.equal(other, array):
                return name
        name = self._file(place, "allowed")
        self.masks[name] = array.clone()
        self._write(name, array)
        return name

    def _notes(self, layer, adds, dropout, apart, rounding):
        unknown = ": inspect and gradcheck do not know it; theirs is attention without"
        same = " was asked for and makes no difference here beyond rounding"
        notes = [what + (same if apart <= rounding else unknown) for what in self.asked]
        if adds:
            notes.append("the mask adds numbers to logits" + unknown)
        if dropout > 0:
            notes.append(f"dropout {dropout:g}: inspect has the weights before it; model.eval()")
        elif apart > rounding and not notes:
            notes.append(
                f"its output is not attention of what is saved: off by {apart:.2g} of the largest V"
            )
        for note in notes:
            self._warn(f"layer {layer}: {note}")
        return notes

    def _gradient(self, entry, place, name, transposed):
        def hook(gradient):
            if self.open and name not in entry["files"]:
                entry["files"][name] = self._file(place, name)
                x = gradient.transpose(-3, -2) if transposed else gradient
                self._write(entry["files"][name], as_heads(x))

        return hook

    # -- The end ---------------------------------------------------------------------------------

    def _options(self, entries, *names):
        """--q a,b --k c,d ... and the mask and the scale that these calls share."""
        words = []
        for name in names:
            files = [os.path.join(self.folder, entry["files"][name]) for entry in entries]
            words += ["--" + name, ",".join(files)]
        mask, scale, d_k = entries[0]["mask"], entries[0]["scale"], entries[0]["q"][-1]
        if mask.endswith(".npy"):
            words += ["--allowed", os.path.join(self.folder, mask)]
        elif mask == "causal-top-left" and entries[0]["q"][-2] == entries[0]["k"][-2]:
            words += ["--causal"]
        elif mask != "none":
            words += ["--mask", mask]
        if not math.isclose(scale, 1 / math.sqrt(d_k), rel_tol=1e-12):
            words += ["--scale", "none" if scale == 1 else repr(scale)]
        return words

    def _inspect_lines(self):
        """One for all calls that share mask, scale and shapes."""
        groups = {}
        for e in self.entries:
            key = tuple(str(e[name]) for name in ("forward", "mask", "scale", "q", "k"))
            groups.setdefault(key, []).append(e)
        for entries in groups.values():
            first = entries[0]["files"]["q"].replace("_q.npy", ".csv")
            words = self._options(entries, "q", "k")
            words += ["--layers", ",".join(str(e["layer"]) for e in entries), "--output"]
            name = first if len(groups) > 1 else "all.csv"
            words += [os.path.join(self.folder, "inspect_" + name)]
            yield shlex.join(["build/sqrtdk", "inspect", *words])

    def _gradcheck_lines(self):
        for e in self.entries:
            other = e["difference"] > e["rounding"] or e["dropout"] > 0 or "mask" in e["files"]
            if other or "dq" not in e["files"]:
                continue
            words = self._options([e], "q", "k", "v", "do", "dq", "dk", "dv")
            words += ["--precision", e["computed_in"]]
            name = e["files"]["q"].replace("_q.npy", ".csv")
            words += ["--output", os.path.join(self.folder, "gradcheck_" + name)]
            yield shlex.join(["build/sqrtdk", "gradcheck", *words])

    def _finish(self):
        path = os.path.join(self.folder, "dump.json")
        with open(path, "x", encoding="utf-8") as file:
            json.dump({"torch": torch.__version__, "calls": self.entries}, file, indent=1)
            file.write("\n")
        gradients = {"dq", "dk", "dv", "do"}
        if self.gradients and any(not gradients <= set(e["files"]) for e in self.entries):
            self._warn(
                "some gradients are missing: expected a backward pass within the dump, gradients on"
            )
        self._commands("inspect", list(self._inspect_lines()), None)
        self._commands("gradcheck", list(self._gradcheck_lines()), 1)

    def _commands(self, name, lines, shown):
        path = os.path.join(self.folder, name + ".sh")
        if lines:
            with open(path, "x", encoding="utf-8") as file:
                file.writelines(line + "\n" for line in lines)
            print("\n".join(lines[:shown]))
        if shown and len(lines) > shown:
            print(f"# and {len(lines) - shown} more: sh {shlex.quote(path)}")


# ---- Around a script ---------------------------------------------------------------------------


def numbers(text):
    return [int(part) for part in text.split(",")]


def main():
    arguments = sys.argv[1:]
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(
        usage="dump_attention.py OUTDIR [options] -- SCRIPT.py [ARGUMENTS]",
        description="Saves what attention gets inside a PyTorch model while a script runs.",
    )
    parser.add_argument("outdir", metavar="OUTDIR", help="a new or an empty folder")
    add = parser.add_argument
    add("--forwards", type=int, default=1, metavar="N", help="forward passes (default: 1)")
    add("--calls", type=int, metavar="N", help="calls of attention at most")
    add("--layers", type=numbers, metavar="LIST", help="these calls of a forward pass, from 0")
    add("--gradients", action="store_true", help="dO, dQ, dK, dV of the first backward pass too")
    options = parser.parse_args(arguments[:cut])
    script = arguments[cut + 1 :]
    if not script or not os.path.isfile(script[0]):
        parser.error("expected -- and a script of Python after the options")
    sys.argv = script
    sys.path[0] = os.path.dirname(os.path.abspath(script[0]))
    try:
        o = options
        with dump(o.outdir, o.forwards, o.calls, o.layers, o.gradients):
            runpy.run_path(script[0], run_name="__main__")
    except DumpError as error:
        say(str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
