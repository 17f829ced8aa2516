#!/usr/bin/env python3
"""scripts/dump_attention.py on small models of three kinds, read back by the program: the entropies
are those that the model's own weights have, and the gradients pass. Attention itself is a stand-in
here, by the formula in PyTorch's documentation, since PyTorch 1.13 has no such function; the
attention interface of transformers is one too, with its names and its signature.

    python3 tests/python/test_dump_attention.py PROGRAM
"""
import csv
import json
import math
import os
import subprocess
import sys
import tempfile
import types
import unittest

import torch
import torch.nn.functional as F

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "scripts"))
import dump_attention  # noqa: E402
from dump_attention import DumpError, dump  # noqa: E402

PROGRAM = "build/sqrtdk"
SCRIPT = dump_attention.__file__
WEIGHTS = []  # of each call of the stand-ins, in order


def stand_in(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False
):
    """What PyTorch's documentation says that scaled_dot_product_attention computes."""
    queries, keys = query.shape[-2], key.shape[-2]
    bias = torch.zeros(queries, keys, dtype=query.dtype)
    if is_causal:
        assert attn_mask is None
        bias = bias.masked_fill(~torch.ones(queries, keys, dtype=torch.bool).tril(), -math.inf)
    if attn_mask is not None:
        boolean = attn_mask.dtype == torch.bool
        bias = torch.zeros(()).masked_fill(~attn_mask, -math.inf) if boolean else attn_mask
    if enable_gqa:
        key, value = (x.repeat_interleave(query.shape[-3] // x.shape[-3], -3) for x in (key, value))
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    logits = query @ key.transpose(-2, -1) * scale + bias
    dead = (logits == -math.inf).all(-1, keepdim=True)  # a row that sees no key has weights 0
    weights = torch.softmax(logits.masked_fill(dead, 0), -1).masked_fill(dead, 0)
    WEIGHTS.append(weights.detach())
    return torch.dropout(weights, dropout_p, True) @ value


F.scaled_dot_product_attention = stand_in


# ---- Models --------------------------------------------------------------------------------------


class Attention(torch.nn.Module):
    """Rotary or not; `attend` is given module, Q, K, V."""

    def __init__(self, layer, width, heads, key_heads, attend, rotary):
        super().__init__()
        self.layer_idx, self.heads, self.key_heads, self.d = layer, heads, key_heads, width // heads
        self.q, self.k, self.v, self.o = (
            torch.nn.Linear(width, n * self.d) for n in (heads, key_heads, key_heads, heads)
        )
        self.attend, self.rotary = attend, rotary

    def turned(self, x):
        half = self.d // 2
        angle = torch.arange(x.shape[-2])[:, None] / 100 ** (torch.arange(half) / half)
        a, b = x[..., :half], x[..., half:]
        sin, cos = angle.sin().to(x.dtype), angle.cos().to(x.dtype)
        return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)

    def forward(self, x):
        batch, tokens, _ = x.shape
        q, k, v = (f(x).reshape(batch, tokens, -1, self.d) for f in (self.q, self.k, self.v))
        q, k, v = (y.transpose(1, 2) for y in (q, k, v))
        if self.rotary:
            q, k = self.turned(q), self.turned(k)
        return self.o(self.attend(self, q, k, v).transpose(1, 2).reshape(batch, tokens, -1))


class Block(torch.nn.Module):
    def __init__(self, *how):
        super().__init__()
        self.norm, self.attention = torch.nn.LayerNorm(how[1]), Attention(*how)

    def forward(self, x):
        return x + self.attention(self.norm(x))


class Model(torch.nn.Module):
    def __init__(self, attend, layers=3, width=16, heads=4, key_heads=4, rotary=False):
        super().__init__()
        torch.manual_seed(7)
        blocks = [Block(n, width, heads, key_heads, attend, rotary) for n in range(layers)]
        self.blocks = torch.nn.Sequential(*blocks)
        with torch.no_grad():  # logits wide enough to tell masks and scales apart
            for p in self.parameters():
                p.mul_(2)

    def forward(self, x):
        return self.blocks(x)


def inputs(batch=2, tokens=6, width=16):
    torch.manual_seed(11)
    return torch.randn(batch, tokens, width)


def plain(module, *arguments):
    return F.scaled_dot_product_attention(*arguments)


def gpt2(module, q, k, v):
    return F.scaled_dot_product_attention(q, k, v, None, 0.0, True)


def gpt2_by_layer(module, q, k, v):
    """GPT-2's scale_attn_by_inverse_layer_idx."""
    scale = 1 / math.sqrt(module.d) / (module.layer_idx + 1)
    return F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=scale)


def padded(module, q, k, v):
    """The first two tokens of batch entry 0 are padding; K and V are shared by pairs of heads."""
    mask = torch.ones(q.shape[0], 1, q.shape[-2], q.shape[-2], dtype=torch.bool).tril()
    mask[0, :, :, :2] = False
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)


def window(q, width):
    queries = q.shape[-2]
    seen = torch.ones(queries, queries, dtype=torch.bool).tril().triu(1 - width)
    zeros = torch.zeros(1, 1, queries, queries, dtype=q.dtype)
    return zeros.masked_fill(~seen, torch.finfo(q.dtype).min)


def gemma(module, q, k, v):
    """Every second layer sees 3 keys; the scale is no width's; K and V come repeated."""
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
    mask = window(q, 3 if module.layer_idx % 2 == 0 else q.shape[-2])
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=0.3)


# ---- A stand-in for transformers -----------------------------------------------------------------


def sdpa_attention_forward(
    module, query, key, value, attention_mask, dropout=0.0, scaling=None, **more
):
    """As in transformers: it passes softcap over."""
    key, value = (x.repeat_interleave(query.shape[1] // x.shape[1], 1) for x in (key, value))
    out = F.scaled_dot_product_attention(
        query, key, value, attn_mask=attention_mask, dropout_p=dropout, scale=scaling,
        is_causal=attention_mask is None,
    )  # fmt: skip
    return out.transpose(1, 2).contiguous(), None


def eager_attention_forward(
    module, query, key, value, attention_mask, scaling=None, dropout=0.0, softcap=None, **more
):
    key, value = (x.repeat_interleave(query.shape[1] // x.shape[1], 1) for x in (key, value))
    logits = query @ key.transpose(2, 3) * (scaling or query.shape[-1] ** -0.5)
    if softcap is not None:
        logits = torch.tanh(logits / softcap) * softcap
    if attention_mask is None:  # as GPT-2's does
        attention_mask = torch.full(logits.shape[-2:], -math.inf).triu(1)
    weights = torch.softmax(logits + attention_mask, -1)
    WEIGHTS.append(weights.detach())
    return (weights @ value).transpose(1, 2).contiguous(), weights


def fused_attention_forward(module, query, key, value, attention_mask, **more):
    return value.transpose(1, 2), None


def transformers():
    """The modules by their names; a model of theirs is the second."""
    utils = types.ModuleType("transformers.modeling_utils")
    utils.ALL_ATTENTION_FUNCTIONS = {
        "sdpa": sdpa_attention_forward,
        "flash_attention_2": fused_attention_forward,
    }
    modeling = types.ModuleType("transformers.models.small.modeling_small")
    modeling.eager_attention_forward = eager_attention_forward
    for module in (utils, modeling):
        sys.modules[module.__name__] = module
    return utils.ALL_ATTENTION_FUNCTIONS, modeling


def attend_by(name, mask=None, **options):
    def attend(module, q, k, v):
        table = sys.modules["transformers.modeling_utils"].ALL_ATTENTION_FUNCTIONS
        eager = sys.modules["transformers.models.small.modeling_small"].eager_attention_forward
        function = eager if name == "eager" else table[name]
        return function(module, q, k, v, mask(q) if mask else None, **options)[0].transpose(1, 2)

    return attend


# ---- Tests ---------------------------------------------------------------------------------------


class DumpTest(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = os.path.join(self.scratch.name, "dump")
        WEIGHTS.clear()
        self.lines = []
        torch.set_num_threads(1)
        self.former = dump_attention.say
        dump_attention.say = self.lines.append

    def tearDown(self):
        dump_attention.say = self.former
        self.scratch.cleanup()
        for name in ("transformers.modeling_utils", "transformers.models.small.modeling_small"):
            sys.modules.pop(name, None)

    def dump(self, model, x=None, backward=False, **options):
        """Dumps a forward pass, and gives what was printed."""
        printed = os.path.join(self.scratch.name, "printed")
        with open(printed, "w") as file:
            former, sys.stdout = sys.stdout, file
            try:
                with dump(self.folder, gradients=backward, **options):
                    out = model(inputs() if x is None else x)
                    if backward:
                        torch.manual_seed(3)
                        (out * torch.randn_like(out)).sum().backward()
            finally:
                sys.stdout = former
        with open(printed) as file:
            return file.read()

    def index(self):
        with open(os.path.join(self.folder, "dump.json")) as file:
            return json.load(file)["calls"]

    def run_lines(self, name):
        """Runs the commands as they stand, and gives their output."""
        with open(os.path.join(self.folder, name + ".sh")) as file:
            commands = file.read().replace("build/sqrtdk", PROGRAM)
        done = subprocess.run(["sh", "-e", "-c", commands], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def assert_entropies(self, tolerance=1e-5):
        """1e-5: the model's weights are float32, and so is its entropy's sum of some terms."""
        self.run_lines("inspect")
        rows = []
        for name in sorted(os.listdir(self.folder)):
            if name.startswith("inspect") and name.endswith(".csv"):
                with open(os.path.join(self.folder, name), newline="") as file:
                    rows += [row for row in csv.DictReader(file) if row["used"] == "1"]
        self.assertGreater(len(rows), 0)
        checked = 0
        for row in rows:
            p = WEIGHTS[int(row["layer"])].double()[int(row["batch"]), int(row["head"])]
            p = p[p.sum(-1) > 0]
            entropy = -(p * p.clamp(min=1e-300).log()).sum(-1).mean()
            self.assertAlmostEqual(float(row["entropy"]), float(entropy), delta=tolerance)
            checked += 1
        calls = WEIGHTS[: len(self.index())]
        self.assertEqual(checked, sum(w.shape[0] * w.shape[1] for w in calls))

    def test_gpt2s_kind(self):
        printed = self.dump(Model(gpt2))
        self.assertEqual(printed.count("\n"), 1)
        self.assertIn("--causal --layers 0,1,2", printed)
        self.assertNotIn("--scale", printed)
        modules = [f"blocks.{n}.attention" for n in range(3)]
        self.assertEqual([c["module"] for c in self.index()], modules)
        self.assertEqual(len(self.lines), 1)  # how much it takes, said before it is written
        self.assertIn("3 x ", self.lines[0])
        self.assert_entropies()

    def test_a_line_for_each_scale(self):
        printed = self.dump(Model(gpt2_by_layer))
        self.assertEqual(printed.count("\n"), 3)
        self.assert_entropies()

    def test_llamas_kind_with_left_padding_and_grouped_queries(self):
        printed = self.dump(Model(padded, key_heads=2, rotary=True))
        self.assertIn("--allowed", printed)
        self.assertEqual(self.index()[2]["mask"], "layer0_allowed.npy")  # one for all layers
        self.assertEqual(self.index()[0]["k"], [2, 2, 6, 4])
        self.assert_entropies()

    def test_gemmas_kind_with_windows_and_a_scale_of_its_own(self):
        printed = self.dump(Model(gemma, key_heads=2, rotary=True))
        self.assertEqual(printed.count("--scale 0.3"), 2)
        masks = ["layer0_allowed.npy", "causal-top-left", "layer0_allowed.npy"]
        self.assertEqual([c["mask"] for c in self.index()], masks)
        self.assert_entropies()

    def test_gradients_pass(self):
        for attend, key_heads in ((gpt2, 4), (padded, 2), (gemma, 2)):
            with self.subTest(attend=attend.__name__):
                self.dump(Model(attend, key_heads=key_heads), backward=True)
                text = self.run_lines("gradcheck")
                for name in ("dQ", "dK", "dV"):
                    self.assertEqual(text.count("PASS " + name), 3, text)
                self.scratch.cleanup()
                os.mkdir(self.scratch.name)

    def test_gradients_of_one_call_alone_where_tensors_are_shared(self):
        def twice(module, q, k, v):
            attention = F.scaled_dot_product_attention
            return attention(q, k, v) + attention(q, q, v, scale=1.0)

        self.dump(Model(twice, layers=1), backward=True)
        self.assertEqual(self.run_lines("gradcheck").count("PASS dQ"), 2)

    def test_frozen_inputs_have_gradients_too(self):
        model = Model(gpt2)
        for p in model.blocks[0].parameters():
            p.requires_grad_(False)
        self.dump(model, backward=True)
        self.assertEqual(self.run_lines("gradcheck").count("PASS dK"), 3)

    def test_a_model_in_bfloat16_is_judged_as_such(self):
        self.dump(Model(gpt2, layers=1).bfloat16(), inputs().bfloat16(), backward=True)
        self.assertEqual(self.index()[0]["computed_in"], "bfloat16")
        with open(os.path.join(self.folder, "gradcheck.sh")) as file:
            self.assertIn("--precision bfloat16", file.read())
        self.assertEqual(self.run_lines("gradcheck").count("PASS d"), 3)
        self.assert_entropies(0.02)  # weights of 8 bits

    def test_autocasts_format_is_noted(self):
        with torch.autocast("cpu", torch.bfloat16):
            self.dump(Model(gpt2, layers=1), backward=False)
        self.assertEqual(self.index()[0]["computed_in"], "bfloat16")

    def test_float64_stays_float64(self):
        self.dump(Model(gpt2).double(), inputs().double())
        self.assert_entropies(1e-12)  # sums of a few terms in another order

    def test_more_queries_or_keys_and_fewer_dimensions(self):
        for queries, keys, offset in ((3, 5, 0), (5, 3, 0), (3, 5, 2), (5, 3, -2)):
            mask = torch.ones(queries, keys, dtype=torch.bool).tril(offset)
            q, k = torch.zeros(queries, 2), torch.zeros(keys, 2)
            seen, adds = dump_attention.visible(mask, False, q, k)
            word = "causal-bottom-right" if offset else "causal-top-left"
            self.assertEqual((dump_attention.mask_word(seen), adds), (word, False))
        torch.manual_seed(5)
        q, k = torch.randn(3, 5, 4), torch.randn(3, 7, 4)
        mask = torch.rand(3, 5, 7) < 0.5
        with dump(self.folder):
            F.scaled_dot_product_attention(q, k, k, attn_mask=mask)
        self.run_lines("inspect")

    def test_what_a_mask_file_says_for_each_shape(self):
        q, k = torch.zeros(2, 4, 3, 8), torch.zeros(2, 4, 5, 8)
        for shape, saved in (
            ((3, 5), [3, 5]), ((2, 1, 3, 5), [2, 3, 5]), ((1, 4, 3, 5), [2, 4, 3, 5]),
            ((4, 3, 5), [2, 4, 3, 5]), ((2, 4, 3, 5), [2, 4, 3, 5]), ((2, 1, 1, 5), [2, 3, 5]),
        ):  # fmt: skip
            torch.manual_seed(1)
            mask = torch.rand(shape) < 0.5
            seen, _ = dump_attention.visible(mask, False, q, k)
            array = dump_attention.mask_array(seen, q)
            self.assertEqual(list(array.shape), saved)
            wide = array if array.dim() == 4 else array.reshape(-1, 1, 3, 5)
            self.assertTrue(torch.equal(wide.expand(2, 4, 3, 5), mask.expand(2, 4, 3, 5)))

    def test_a_forward_pass_ends_where_a_module_attends_again(self):
        model, x = Model(gpt2), inputs()
        self.dump(lambda x: (model(x), model(x)), x)
        self.assertEqual(len(self.index()), 3)

        with dump(self.folder + "2", forwards=2):
            for _ in range(3):
                y = x
                for block in model.blocks:  # a loop by hand counts like a model
                    y = block(y)
        self.folder += "2"
        calls = [(f, n) for f in (0, 1) for n in range(3)]
        self.assertEqual([(c["forward"], c["layer"]) for c in self.index()], calls)
        self.assertIn("forward1_layer2_q.npy", os.listdir(self.folder))
        self.run_lines("inspect")

    def test_one_module_for_all_layers_is_one_forward_pass(self):
        block = Block(0, 16, 4, 4, gpt2, False)
        self.dump(torch.nn.Sequential(block, block, block))
        self.assertEqual([c["layer"] for c in self.index()], [0, 1, 2])

    def test_layers_and_calls_choose(self):
        self.dump(Model(gpt2), layers=[0, 2])
        self.assertEqual([c["layer"] for c in self.index()], [0, 2])
        self.folder += "2"
        self.dump(Model(gpt2), calls=1)
        self.assertEqual([c["layer"] for c in self.index()], [0])

    def test_a_function_imported_by_name_is_seen_and_put_back(self):
        user = types.ModuleType("user_model")
        sys.modules["user_model"] = user
        user.attention = F.scaled_dot_product_attention
        model = Model(lambda module, q, k, v: user.attention(q, k, v))
        self.dump(model)
        self.assertEqual(len(self.index()), 3)
        self.assertIs(user.attention, stand_in)
        self.assertIs(F.scaled_dot_product_attention, stand_in)
        del sys.modules["user_model"]

    def test_transformers_functions_by_name(self):
        table, modeling = transformers()
        self.dump(Model(attend_by("sdpa", scaling=0.4), key_heads=2))
        self.assertEqual([c["scale"] for c in self.index()], [0.4] * 3)
        self.assertEqual(len(WEIGHTS), 3)
        self.assert_entropies()
        self.assertEqual(table["sdpa"], sdpa_attention_forward)
        self.assertEqual(modeling.eager_attention_forward, eager_attention_forward)

    def test_transformers_that_comes_later_is_seen(self):
        def late(x):
            transformers()
            return Model(attend_by("eager", lambda q: window(q, 4), scaling=0.4))(x)

        self.dump(late)
        self.assertEqual(len(self.index()), 3)

    def test_transformers_eager_functions_pass_with_their_gradients(self):
        transformers()
        attend = attend_by("eager", lambda q: window(q, 4), scaling=0.4)
        self.dump(Model(attend, key_heads=2), backward=True)
        self.assertEqual(self.index()[0]["k"], [2, 2, 6, 4])  # before they are repeated
        self.assertEqual(self.run_lines("gradcheck").count("PASS dK"), 3)
        self.assert_entropies()

    def test_an_eager_function_that_masks_by_itself_is_found_out(self):
        transformers()
        self.dump(Model(attend_by("eager")))
        self.assertEqual([c["mask"] for c in self.index()], ["causal-top-left"] * 3)
        self.assert_entropies()

    def test_softcapping_that_was_done_and_that_was_passed_over(self):
        transformers()
        self.dump(Model(attend_by("eager", lambda q: window(q, 4), softcap=2.0)), backward=True)
        self.assertIn("logit softcapping: inspect and gradcheck do not know it", self.lines[1])
        self.assertFalse(os.path.exists(os.path.join(self.folder, "gradcheck.sh")))
        self.folder += "2"
        self.dump(Model(attend_by("sdpa", lambda q: window(q, 4), softcap=2.0)), backward=True)
        self.assertIn("softcapping was asked for and makes no difference", self.lines[-1])
        self.assertEqual(self.run_lines("gradcheck").count("PASS dQ"), 3)

    def test_a_fused_kernel_is_named(self):
        transformers()
        with self.assertRaisesRegex(DumpError, "no call of attention was seen"):
            self.dump(Model(attend_by("flash_attention_2")))
        self.assertIn('"flash_attention_2" is not seen', self.lines[0])

    def test_numbers_added_to_logits_are_said_and_saved(self):
        def biased(module, q, k, v):
            bias = window(q, 9) - torch.arange(6.0)
            return F.scaled_dot_product_attention(q, k, v, attn_mask=bias)

        self.dump(Model(biased, layers=1))
        self.assertIn("the mask adds numbers to logits", self.lines[1])
        self.assertIn("layer0_mask.npy", os.listdir(self.folder))
        self.assertGreater(self.index()[0]["difference"], 0.01)

    def test_attention_that_is_something_else_is_said(self):
        former = F.scaled_dot_product_attention
        F.scaled_dot_product_attention = lambda q, k, v: torch.softmax(q @ k.mT, -1) @ v
        try:
            self.dump(Model(plain, layers=1))
        finally:
            F.scaled_dot_product_attention = former
        self.assertIn("its output is not attention of what is saved", self.lines[1])

    def test_of_long_heads_some_rows_are_held_against_the_output(self):
        torch.manual_seed(2)
        q = torch.randn(1, 1, 600, 4)
        for wrong in (1, 1.01):
            former = F.scaled_dot_product_attention
            F.scaled_dot_product_attention = lambda *a, **b: former(*a, **b) * wrong
            with dump(f"{self.folder}{wrong}"):
                F.scaled_dot_product_attention(q, q, q, is_causal=True)
            F.scaled_dot_product_attention = former
        self.assertEqual(len(self.lines), 3)  # two sizes, and one
        self.assertIn("its output is not attention", self.lines[2])

    def test_dropout_is_said(self):
        dropping = lambda module, q, k, v: plain(module, q, k, v, None, 0.5)
        self.dump(Model(dropping, layers=1), backward=True)
        self.assertIn("dropout 0.5", self.lines[1])
        self.assertFalse(os.path.exists(os.path.join(self.folder, "gradcheck.sh")))

    def test_compiled_code_is_passed_over_and_said(self):
        torch.compiler = types.SimpleNamespace(is_compiling=lambda: True)
        try:
            with self.assertRaises(DumpError):
                self.dump(Model(gpt2))
        finally:
            del torch.compiler
        self.assertIn("torch.compile", self.lines[0])

    def test_gradients_that_never_came_are_said(self):
        with torch.no_grad():
            with dump(self.folder, gradients=True):
                Model(gpt2)(inputs())
        self.assertIn("some gradients are missing", self.lines[-1])

    def test_nothing_is_overwritten(self):
        self.dump(Model(gpt2))
        with self.assertRaisesRegex(DumpError, "is there already"):
            self.dump(Model(gpt2))

    def test_more_than_the_disk_has_is_refused(self):
        former = dump_attention.shutil.disk_usage
        dump_attention.shutil.disk_usage = lambda path: types.SimpleNamespace(free=1000)
        try:
            with self.assertRaisesRegex(DumpError, "are free; expected"):
                self.dump(Model(gpt2))
        finally:
            dump_attention.shutil.disk_usage = former
        self.assertFalse(os.path.exists(self.folder))

    def test_around_a_script(self):
        script = os.path.join(self.scratch.name, "script.py")
        here = f"import sys\nsys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})\n"
        with open(script, "w") as file:
            file.write(
                here + "import test_dump_attention as t\n"
                "t.Model(t.gpt2, layers=int(sys.argv[1]))(t.inputs())\nsys.exit(0)\n"
            )
        # the stand-in is in place before the script starts, as PyTorch's own function is
        launch = here + "import test_dump_attention as t\nsys.exit(t.dump_attention.main())\n"
        for code, said in ((0, ""), (1, "is there already; expected a new or an empty folder\n")):
            done = subprocess.run(
                [sys.executable, "-c", launch, self.folder, "--layers", "1", "--", script, "2"],
                capture_output=True,
                text=True,
            )
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)
            self.assertTrue(done.stderr.endswith(said))
            self.assertEqual("--layers 1" in done.stdout, code == 0)
        self.assertEqual([c["layer"] for c in self.index()], [1])


if __name__ == "__main__":
    if len(sys.argv) > 1:
        PROGRAM = sys.argv.pop(1)
    unittest.main()
