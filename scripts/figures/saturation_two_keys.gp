# The saturation curve itself: two keys, the larger weight w and its gradient w(1-w) against the gap of
# the two logits, with the gaps that random q.k of d_k = 8, 64, 512 typically has, with and without
# the scale.
#   scripts/draw saturation_two_keys results/saturation.csv saturation_two_keys.png   (or .svg)
# Takes the CSV of any `sqrtdk saturation` and reads the gaps from the _theory.csv beside it.
NAME = "saturation_two_keys"; CSV = ARG1; OUT = ARG2
HERE = ""
do for [i = 1:strlen(ARG0)] { if (ARG0[i:i] eq "/") { HERE = ARG0[1:i] } }
load HERE . "saturation_common.gp"

# The median gap at d_k, by rule; 0 where the run has no such row.
N = word(KEYS, 1) + 0
gap_of(s, d) = !in(LINES, s) ? "g_ = 0" : sprintf("g_ = 0; stats THEORY using (line_at('%s', N) && column('d_k') == %d ? (g_ = num('two_key_gap'), 1) : 1) nooutput", s, d)
SHOWN = ""
do for [d in "8 64 512"] { if (in(DKS, d)) { SHOWN = with(SHOWN, d) } }
if (words(SHOWN) == 0) { SHOWN = with(sprintf("%d", DMIN), sprintf("%d", DMAX)) }
NSHOWN = words(SHOWN)
array UNSCALED[NSHOWN]; array SCALED[NSHOWN]
GMAX = 4
do for [i = 1:NSHOWN] {
    eval gap_of("none", word(SHOWN, i) + 0)
    UNSCALED[i] = g_
    eval gap_of("sqrt", word(SHOWN, i) + 0)
    SCALED[i] = g_
    GMAX = max(GMAX, max(UNSCALED[i], SCALED[i]))
}
GMAX = 1.12 * GMAX
w(g) = 1 / (1 + exp(-g))
slope(g) = exp(-g) / (1 + exp(-g))**2       # w(1-w), without the cancellation of 1 - w

eval left_out("none sqrt", KEYS)
set output OUT
set multiplot
title_ = "A softmax of two keys"
if (SCALED[NSHOWN] > 0 && UNSCALED[NSHOWN] > 0) {
    title_ = sprintf("Two keys at d_k %s: the typical gradient is %.2g without the scale, %.2g with it", \
        word(SHOWN, NSHOWN), slope(UNSCALED[NSHOWN]), slope(SCALED[NSHOWN]))
}
eval told(title_, "softmax of two logits: w of the larger one and dw/dgap = w(1-w); points: exact median gap of q.k, q and k ~ N(0,1)")
set lmargin at screen 0.098; set rmargin at screen 0.985
eval y_name(3, "larger weight w", 0.665 - SINK / 2)
eval y_name(4, "w(1-w), log scale", 0.305)
# above: the weight
set tmargin at screen 0.845 - SINK; set bmargin at screen 0.525
set xlabel ""; set format x ""
set ytics 0.5, 0.1, 1
set arrow 50 from graph 0, first 1 to graph 1, first 1 nohead lw 1 dt (2, 3) lc rgb GREY
mark(i, g, y, text, s, dx, dy, how) = sprintf("set label %d \"%s\" at %.9g, %.9g %s offset %g, %g point pt %s ps 1.3 lc rgb '%s' noenhanced textcolor rgb '%s'", \
    200 + i, text, g, y, how, dx, dy, word(POINTS, k_of(s)), colour(s), letters(s))
far(i) = UNSCALED[i] > 0.55 * GMAX      # its text would leave the graph on the right
# The scaled gaps lie so close together that one text names them all.
ALL_SCALED = sprintf("d_k %s, %s", NSHOWN > 1 ? sprintf("%s to %s", word(SHOWN, 1), word(SHOWN, NSHOWN)) : word(SHOWN, 1), pretty("sqrt"))
short(s, d) = "d_k " . d . ", " . pretty(s)
do for [i = 1:NSHOWN] {
    if (UNSCALED[i] > 0) { eval mark(i, UNSCALED[i], w(UNSCALED[i]), short("none", word(SHOWN, i)), "none", far(i) ? -1.5 : 0.3, -1.0, far(i) ? "right" : "left") }
}
do for [i = 1:NSHOWN] {
    if (SCALED[i] > 0) { eval mark(20 + i, SCALED[i], w(SCALED[i]), i == NSHOWN ? ALL_SCALED : "", "sqrt", 1.2, -0.2, "left") }
}
plot [0:GMAX] [0.5:1.02] w(x) with lines lw 2 lc rgb "#000000" notitle
# below: its gradient
do for [i = 1:40] { unset label 200 + i }
unset arrow 50
unset label 1; unset label 2; unset label 3; unset label 4; unset label 9
set tmargin at screen 0.485; set bmargin at screen 0.125
set format x "%g"
set xlabel "score gap: logit of the larger key minus that of the other (no unit)" offset 0, 0.3
YHI = 1.0; YLO = 10.0**decade(slope(GMAX)); LOW = 0; BARE = 0
eval Y_TICKS
set logscale y
do for [i = 1:NSHOWN] {
    if (UNSCALED[i] > 0) { eval mark(i, UNSCALED[i], slope(UNSCALED[i]), sprintf("%s: %.2g", short("none", word(SHOWN, i)), slope(UNSCALED[i])), "none", far(i) ? -1.5 : 0.8, far(i) ? -0.5 : 0.5, far(i) ? "right" : "left") }
}
# Their own words stand below, where the curve leaves room.
if (SCALED[NSHOWN] > 0) {
    do for [i = 1:NSHOWN] { eval mark(20 + i, SCALED[i], slope(SCALED[i]), "", "sqrt", 0, 0, "left") }
    set arrow 40 from first SCALED[NSHOWN], first slope(SCALED[NSHOWN]) to first SCALED[NSHOWN], graph 0.34 nohead lw 0.7 dt (2, 2) lc rgb colour("sqrt")
    set label 241 sprintf("%s: %.2g", ALL_SCALED, slope(SCALED[NSHOWN])) at first 0.5 * SCALED[NSHOWN], graph 0.27 left noenhanced textcolor rgb letters("sqrt")
}
plot [0:GMAX] [YLO:YHI] slope(x) with lines lw 2 lc rgb "#000000" notitle
unset multiplot
unset output
