# What the figures of `sqrtdk map` share beside common.gp. Each scripts/figures/map_NAME.gp finds
#   of_seed(0)   is this row's seed the first? Others are left out, and SETTINGS says so
#   SETTINGS     steps, seed, batch and tokens, and what is no default
#   STEPS        how many were asked for

load HERE . "common.gp"

first(c) = system(sprintf("awk -F, -v c=%s 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == c) at = i } NR == 2 { print $at; exit }' <'%s'", c, quoted(CSV)))
SEED = first("seed")
of_seed(x) = stringcolumn("seed") eq SEED
SEEDS = ""; OPTIMIZERS = ""; STEPS = 0
stats CSV using (SEEDS = with(SEEDS, stringcolumn("seed")), OPTIMIZERS = with(OPTIMIZERS, stringcolumn("optimizer")), STEPS = max(STEPS, num("steps")), 1) nooutput
other_than(c, usual, words_) = first(c) eq usual ? "" : ", " . words_ . " " . first(c)
WIDE_ = first("d_model") eq first("d_v") ? "d_model = d_v = " . first("d_v") : "d_model " . first("d_model") . ", d_v " . first("d_v")
SETTINGS = sprintf("%s, T %s, batch %s, %s, seed %s%s", plural(STEPS, "step"), first("tokens"), first("batch"), WIDE_, SEED, \
    words(SEEDS) > 1 ? sprintf(" (the first of %d)", words(SEEDS)) : "") . \
    other_than("target", "soft", "target") . other_than("target_gain", "1", "gain of the target")
# Over rates all gains are 1; on the plane they are at sigma0 1 alone.
PLANE = ("0" . system(sprintf("grep -c '^axes = plane$' '%s' 2>/dev/null || :", quoted(CSV[1:strlen(CSV) - 4] . ".meta")))) + 0
stats CSV using (column("gain") != 1 ? (PLANE = 1) : 1) nooutput
# What is left out: of ALL the first n.
unshown(all, n) = (l_ = "", sum [i = n + 1:words(all)] (l_ = l_ . " " . word(all, i), 0), l_)
log2(v) = log(v) / log(2)
near(a, b) = abs(a - b) < 1e-6
SMALL = EXT eq ".svg" ? 11 : 8.5    # of what stands in or beside many cells
FONT = sprintf(",%.1f", SMALL)
