# How sharp is each head of a model? Entropy of its rows by layer and head, as a heat map: dark heads
# look at few keys, light ones at many.
#   scripts/draw inspect_heads results/inspect.csv inspect_heads.png   (or .svg)
# Takes the CSV of `sqrtdk inspect` and reads its rows of the rule in use; of the .meta beside it, if
# there is one, the mask. A column is a layer, or, where there are several, a batch entry of it.
NAME = "inspect_heads"; CSV = ARG1; OUT = ARG2; KIND = "the CSV of sqrtdk inspect"
NEEDS = "layer batch head scale used queries keys d_k entropy entropy_normalised jacobian_median entropy_uniform"
HERE = ""
do for [i = 1:strlen(ARG0)] { if (ARG0[i:i] eq "/") { HERE = ARG0[1:i] } }
load HERE . "page.gp"

# ---- What is in the file. Heads that see no key have no entropy ("nan"): they are left empty.
used(x) = column("used") == 1
isnan(c) = strstrt(stringcolumn(c), "nan") > 0
shown(x) = used(0) && !isnan("entropy")
dead(x) = shown(0) && !isnan("entropy_normalised") && column("jacobian_median") < 1e-6
LAYERS = ""; HEADS = 0; BATCHES = 0; ALL = 0; SEEN = 0; DEAD = 0; LO = 1e300; HI = -1; LEAST = 1e300; MOST = -1
SCALE = ""; DKS = ""; SIZES = ""
stats CSV using (used(0) ? (LAYERS = with(LAYERS, stringcolumn("layer")), HEADS = max(HEADS, column("head") + 1), \
    BATCHES = max(BATCHES, column("batch") + 1), ALL = ALL + (column("batch") == 0), SCALE = stringcolumn("scale"), \
    DKS = with(DKS, stringcolumn("d_k")), SIZES = with(SIZES, stringcolumn("queries") . "x" . stringcolumn("keys")), 1) : 1) nooutput
stats CSV using (shown(0) ? (SEEN = SEEN + 1, DEAD = DEAD + dead(0), LO = min(LO, column("entropy")), HI = max(HI, column("entropy")), \
    LEAST = min(LEAST, column("entropy_uniform")), MOST = max(MOST, column("entropy_uniform")), 1) : 1) nooutput
if (SEEN == 0) { eval die("no head with an entropy in " . plain(CSV)) }
HEADS = int(HEADS); BATCHES = int(BATCHES); NL = words(LAYERS)

# ---- Words.
STEM = strlen(CSV) > 4 && CSV[strlen(CSV) - 3:*] eq ".csv" ? CSV[1:strlen(CSV) - 4] : CSV
load HERE . "inspect_common.gp"
range(a, b) = sprintf("%.2f", a) eq sprintf("%.2f", b) ? sprintf("%.2f", a) : sprintf("%.2f to %.2f", a, b)
heads_ = ALL == 1 ? "One head has" : sprintf("%d heads have", ALL)
title_ = MOST == 0 ? "No query sees two keys: there is nothing to choose" : \
    DEAD ? sprintf("In %d of %d heads%s the median norm of a row's softmax Jacobian is below 1e-6 (x)", DEAD, SEEN, BATCHES > 1 ? " (all batch entries)" : "") : \
    sprintf("%s %s nats of entropy; equal weights would have %s", heads_, range(LO, HI), range(LEAST, MOST))
facts_ = sprintf("mean over rows; equal: over the keys a row sees; scale %s, d_k %s, queries x keys %s%s%s", SCALE, DKS, \
    words(SIZES) > 1 ? "various" : SIZES, SETTINGS, BATCHES > 1 ? sprintf(", %d batch entries", BATCHES) : "")

# ---- Columns: their places, and what fits between them, in units of an 800 x 500 page.
LEFT = 0.10; RIGHT = 0.86; TOP = 0.84; BOTTOM = 0.14
PITCH = BATCHES + (BATCHES > 1 ? 0.4 : 0)     # from a layer to the next
LAST = (NL - 1) * PITCH + BATCHES - 1
CHAR = 7.6; LINE = 15
WIDE = 800 * (RIGHT - LEFT) / (LAST + 1)      # of a cell
GROUP = WIDE * BATCHES                        # of a layer
place(s) = (at_ = 0, sum [i = 1:NL] (word(LAYERS, i) eq s ? (at_ = i - 1) : 0), at_)
x_of(x) = place(stringcolumn("layer")) * PITCH + column("batch")
centre(i) = (i - 1) * PITCH + (BATCHES - 1) / 2.0

fits(list) = longest(list) * CHAR + 6 <= GROUP
SHORT = LAYERS; WHOLE = "layer"
if (!fits(LAYERS)) { eval SHORTEN }
# What still does not fit is thinned, if it is numbers, or stands upright.
NUMERIC = 1
do for [s in SHORT] { if (!digits(s)) { NUMERIC = 0 } }
UPRIGHT = !fits(SHORT) && !NUMERIC
EVERY_X = ceil((UPRIGHT ? LINE : NUMERIC ? longest(SHORT) * CHAR + 6 : 1) / (WIDE * PITCH))
if (UPRIGHT) { BOTTOM = 0.11 + longest(SHORT) * CHAR / 500 }
HIGH = 500 * (TOP - BOTTOM) / HEADS
EVERY_Y = ceil(LINE / HIGH)

set output OUT
unset key
set lmargin at screen LEFT; set rmargin at screen RIGHT
set tmargin at screen TOP; set bmargin at screen BOTTOM
eval heading(title_, facts_)
eval y_name(3, "head", (TOP + BOTTOM) / 2)
set border 0
set tics scale 0 nomirror textcolor rgb "#333333"
set xtics () noenhanced; set ytics ()
if (UPRIGHT) { set xtics rotate by 90 right }
do for [h = 0:HEADS - 1] { if (h % EVERY_Y == 0) { set ytics add (sprintf("%d", h) h) } }
# One batch entry: ticks are layers. Several: ticks are these, and the layers stand below.
BATCH_TICKS = BATCHES > 1 && !UPRIGHT && WIDE >= strlen(sprintf("%d", BATCHES - 1)) * CHAR + 4
do for [i = 1:NL] { if ((i - 1) % EVERY_X == 0) {
    if (BATCH_TICKS) {
        set label 10 + i word(SHORT, i) at first centre(i), screen BOTTOM - 0.075 center noenhanced textcolor rgb "#333333"
    } else {
        set xtics add (word(SHORT, i) centre(i))
    }
} }
if (BATCH_TICKS) { do for [i = 1:NL] { do for [b = 0:BATCHES - 1] { set xtics add (sprintf("%d", b) (i - 1) * PITCH + b) } } }
set label 4 (BATCH_TICKS ? "batch entry, and below it the " : "") . WHOLE . (BATCHES > 1 && !BATCH_TICKS ? ", its batch entries side by side" : "") \
    at screen (LEFT + RIGHT) / 2, screen (UPRIGHT || BATCH_TICKS ? 0.025 : 0.055) center noenhanced

# ---- Colours: a ramp whose lightness grows steadily, so that it says the same in grey.
RAMP = "0 34 78 59 73 108 125 124 120 187 175 113 254 232 56"   # #00224E #3B496C #7D7C78 #BBAF71 #FEE838
set palette defined (0 "#00224E", 0.25 "#3B496C", 0.5 "#7D7C78", 0.75 "#BBAF71", 1 "#FEE838")
TOPMOST = HI > 0 ? HI : 1
set cbrange [0:TOPMOST]
set cblabel "entropy (nats)" offset 0.4, 0
set colorbox user origin screen 0.885, screen BOTTOM size screen 0.022, screen TOP - BOTTOM
# Black or white, whichever is further from the cell's luminance (WCAG): 4.58 : 1 at the least.
stop(k, c) = word(RAMP, 3 * k + c + 1) / 255.0
channel(t, c) = (k_ = min(3, floor(4 * t)), stop(k_, c) + (4 * t - k_) * (stop(k_ + 1, c) - stop(k_, c)))
linear(v) = v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4
luminance(t) = 0.2126 * linear(channel(t, 0)) + 0.7152 * linear(channel(t, 1)) + 0.0722 * linear(channel(t, 2))
ink(x) = luminance(column("entropy") / TOPMOST) > 0.179 ? 0x000000 : 0xFFFFFF

# ---- Numbers and marks where there is room for them.
DECIMALS = HIGH < LINE || WIDE < 3 * CHAR + 4 ? 0 : WIDE < 4 * CHAR + 4 ? 1 : 2
number(x) = sprintf(DECIMALS == 1 ? "%.1f" : "%.2f", column("entropy"))
text(x) = !dead(0) ? number(0) : WIDE < 6 * CHAR + 4 ? "x" : number(0) . " x"
plot [-0.5:LAST + 0.5] [HEADS - 0.5:-0.5] \
    CSV using (shown(0) ? x_of(0) : NaN):(column("head")):(x_of(0) - 0.49):(x_of(0) + 0.49):(column("head") - 0.48):(column("head") + 0.48):(column("entropy")) \
        with boxxyerror fs solid 1 noborder lc palette, \
    CSV using (shown(0) && DECIMALS ? x_of(0) : NaN):(column("head")):(text(0)):(ink(0)) with labels textcolor rgb variable, \
    CSV using (dead(0) && !DECIMALS ? x_of(0) : NaN):(column("head")):(ink(0)) with points pt 2 ps min(1, min(WIDE, HIGH) / 12) lw 1.5 lc rgb variable
unset output
