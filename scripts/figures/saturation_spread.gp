# Why the square root: how far do the logits of a row spread as d_k grows? Standard deviation within a row,
# measured and exact, without the scale and with it, beside the lines sqrt(d_k) and 1.
#   scripts/draw saturation_spread results/saturation.csv saturation_spread.png   (or .svg)
# Takes the CSV of any `sqrtdk saturation`; shows the greatest number of keys, whose rows tell their deviation
# best, and the rules none and sqrt.
NAME = "saturation_spread"; CSV = ARG1; OUT = ARG2
HERE = ""
do for [i = 1:strlen(ARG0)] { if (ARG0[i:i] eq "/") { HERE = ARG0[1:i] } }
load HERE . "saturation_common.gp"

eval only("logit_std")
N = word(KEYS, NK) + 0
CAP = 1e-8
eval left_out(PAIR, word(KEYS, NK))
stats ROWS using (in(PAIR, stringcolumn("scale")) && column("keys") == N && stringcolumn("statistic") eq "mean" ? (look(num("value")), 1) : 1) nooutput
dummy = look(1.0) + (in(PAIR, "none") ? look(sqrt(XHI)) : 0)
eval FIT
YLO = LOW ? YLO : 0.7 * min(LO, 1)

title_ = "How far the logits of a row spread"
if (in(PAIR, "none") && in(PAIR, "sqrt")) {
    eval find("none", N, "logit_std", "mean")
    u_ = y1_
    eval find("sqrt", N, "logit_std", "mean")
    title_ = sprintf("A row's logits at d_k %d spread by %.3g without the scale, by %.3g with it", DMAX, u_, y1_)
}

set output OUT
LINE_HEIGHT = 0.046; LEAD = 0.008
DK_ROOM = 0.02 + 0.014 * strlen(word(DKS, NDK))
set lmargin at screen 0.098; set rmargin at screen 0.83; set tmargin at screen 0.86 - SINK; set bmargin at screen 0.125
eval told(title_, sprintf("standard deviation within a row, mean over %s %d keys, q and k ~ N(0,1)%s", DRAWN, N, strlen(PAIR_LINES) ? "; lines exact" : ""))
eval y_name(3, "standard deviation of a row's logits (log scale)", 0.4925 - SINK / 2)
set xlabel "key width d_k (log scale)" noenhanced offset 0, 0.3
do for [s in PAIR] {
    eval find(s, N, "logit_std", "mean")
    eval add_label(twoline(s), letters(s), x1_, gy(y1_))
}
eval SPREAD
# The references stand apart from the lines that they are references of.
MIDDLE = sqrt(XLO * XHI)
if (in(PAIR, "none")) { set label 61 "dotted: " . ROOT at first MIDDLE, first sqrt(MIDDLE) right offset -1.5, 0.8 noenhanced textcolor rgb GREY }
set label 62 "dotted: 1" at first MIDDLE, first 1 center offset 0, 0.9 noenhanced textcolor rgb GREY
eval DK_AXIS
BARE = 0
eval Y_TICKS
set logscale y
# Put together as text, because a loop over nothing draws (and complains) once.
eval 'plot [XLO:XHI] [YLO:YHI] ' . \
    (in(PAIR, "none") ? 'sqrt(x) with lines lw 2 dt (2, 3) lc rgb GREY, ' : '') . '1 with lines lw 2 dt (2, 3) lc rgb GREY, ' . \
    (words(PAIR_LINES) == 0 ? '' : 'for [s in PAIR_LINES] THEORY using (line_at(s, N) ? column("d_k") : NaN):(num("logit_std")) with lines ls k_of(s), ') . \
    'for [s in PAIR] ROWS using (at(s, N, "logit_std", "mean") ? column("d_k") : NaN):(onlog(num("value"))) with points ls k_of(s) ps 1'
unset output
