# How sharp is each head of a model? Entropy of its rows by layer and head, as a heat map: dark heads
# look at few keys, light ones at many.
#   gnuplot -c scripts/figures/inspect_heads.gp results/inspect.csv inspect_heads.png   (or .svg)
# Takes the CSV of `sqrtdk inspect` and reads its rows of the rule in use. Several batch entries are
# rows of their own, "batch/head".
NAME = "inspect_heads"; CSV = ARG1; OUT = ARG2; KIND = "the CSV of sqrtdk inspect"
NEEDS = "layer batch head scale used queries keys d_k entropy jacobian_median"
HERE = ""
do for [i = 1:strlen(ARG0)] { if (ARG0[i:i] eq "/") { HERE = ARG0[1:i] } }
load HERE . "page.gp"

# Heads that no query uses have no entropy ("nan"): they are left empty.
shown(x) = column("used") == 1 && strstrt(stringcolumn("entropy"), "nan") == 0
LAYERS = 0; HEADS = 0; BATCHES = 0; LO = 1e300; HI = -1; KEYS = 0; SEEN = 0; DEAD = 0
SCALE = ""; DKS = ""; SIZES = ""
dead(x) = shown(0) && column("jacobian_median") < 1e-6
stats CSV using (shown(0) ? (SEEN = SEEN + 1, LAYERS = max(LAYERS, column("layer") + 1), HEADS = max(HEADS, column("head") + 1), \
    BATCHES = max(BATCHES, column("batch") + 1), LO = min(LO, column("entropy")), HI = max(HI, column("entropy")), \
    KEYS = max(KEYS, column("keys")), DEAD = DEAD + dead(0), SCALE = stringcolumn("scale"), DKS = with(DKS, stringcolumn("d_k")), \
    SIZES = with(SIZES, stringcolumn("queries") . "x" . stringcolumn("keys")), 1) : 1) nooutput
if (SEEN == 0) { eval die("no head with an entropy in " . plain(CSV)) }
ROWS = BATCHES * HEADS
y_of(x) = column("batch") * HEADS + column("head")

UNIFORM = log(KEYS)
title_ = DEAD ? sprintf("The typical row of %s of %d gets no gradient (marked x)", plural(DEAD, "head"), SEEN) : SEEN > 1 ? \
    sprintf("%d heads, from %.2g to %.2g nats of entropy; each one's typical row gets a gradient", SEEN, LO, HI) : \
    sprintf("One head of %.2g nats of entropy", LO)
facts_ = sprintf("mean over rows; scale %s, d_k %s, queries x keys %s; all %d keys alike would be ln %d = %.2f nats", \
    SCALE, DKS, words(SIZES) > 1 ? "various" : SIZES, int(KEYS), int(KEYS), UNIFORM)

set output OUT
unset key
set lmargin at screen 0.10; set rmargin at screen 0.86
set tmargin at screen 0.84; set bmargin at screen 0.13
eval heading(title_, facts_)
eval y_name(3, BATCHES > 1 ? "batch entry / head" : "head", 0.485)
set xlabel "layer" offset 0, 0.2
set border 0
set tics scale 0 nomirror textcolor rgb "#333333"
EVERY_X = ceil(LAYERS / 25.0); EVERY_Y = ceil(ROWS / 25.0)
set xtics 0, EVERY_X
set ytics ()
do for [r = 0:ROWS - 1] { if (r % EVERY_Y == 0) { set ytics add ((BATCHES > 1 ? sprintf("%d/%d", r / HEADS, r % HEADS) : sprintf("%d", r)) r) } }

# A ramp whose lightness grows steadily, so that it says the same in grey.
set palette defined (0 "#00224E", 0.25 "#3B496C", 0.5 "#7D7C78", 0.75 "#BBAF71", 1 "#FEE838")
set cbrange [0:max(HI, 1e-9)]
set cblabel "entropy (nats)" offset 0.4, 0
set colorbox user origin screen 0.885, screen 0.13 size screen 0.022, screen 0.71

# Numbers and marks where there is room for them.
NUMBERS = (LAYERS <= 16 && ROWS <= 20)
bright(x) = column("entropy") > 0.42 * HI ? 0x000000 : 0xFFFFFF
plot [-0.5:LAYERS - 0.5] [ROWS - 0.5:-0.5] \
    CSV using (shown(0) ? column("layer") : NaN):(y_of(0)):(column("layer") - 0.49):(column("layer") + 0.49):(y_of(0) - 0.48):(y_of(0) + 0.48):(column("entropy")) \
        with boxxyerror fs solid 1 noborder lc palette, \
    CSV using (shown(0) && NUMBERS ? column("layer") : NaN):(y_of(0)):(sprintf("%.2f", column("entropy"))):(bright(0)) \
        with labels textcolor rgb variable, \
    CSV using (dead(0) ? column("layer") + (NUMBERS ? 0.35 : 0) : NaN):(y_of(0)) with points pt 2 lw 2 lc rgb "#D55E00"
unset output
