# Which scaling rule keeps the softmax from saturating, and what does a query feel? Mean largest weight and
# median |dQ| against d_k, a curve a rule.
#   gnuplot -c scripts/figures/saturation_rules.gp results/saturation.csv saturation_rules.png   (or .svg)
# Takes the CSV of any `sqrtdk saturation`; shows the number of keys nearest 16 and the first eight rules.
NAME = "saturation_rules"; CSV = ARG1; OUT = ARG2
HERE = ""
do for [i = 1:strlen(ARG0)] { if (ARG0[i:i] eq "/") { HERE = ARG0[1:i] } }
load HERE . "saturation_common.gp"

N = nearest_keys(16)
RUN = ""
do for [i = 1:min(NS, 8)] { RUN = with(RUN, word(SCALES, i)) }
if (NS > 8) { print NAME . ": note: shown are" . listed(RUN) . ", of" . listed(SCALES) }
NR = words(RUN)

CAP = 1e-8
felt(v) = v > 1e-14 ? v : 0     # at d_k = 1 a cosine is 1 or -1 and its gradient 0, but for rounding
stats CSV using (in(RUN, stringcolumn("scale")) && at(stringcolumn("scale"), N, "dq_norm", "median") ? (look(felt(num("value"))), 1) : 1) nooutput
if (HI == 0) { eval die("no median of dq_norm in " . plain(CSV)) }
eval FIT

# How many rules hold their largest weight, within a tenth of its range, over all d_k?
HELD = 0
do for [s in RUN] {
    least_ = 1; most_ = 0
    stats CSV using (at(s, N, "max_weight", "mean") ? (least_ = min(least_, num("value")), most_ = max(most_, num("value")), 1) : 1) nooutput
    if (most_ - least_ < 0.1) { HELD = HELD + 1 }
}
title_ = NDK > 1 ? sprintf("%d of %d rules keep the largest weight within 0.1 from d_k %d to %d", HELD, NR, DMIN, DMAX) : \
    sprintf("Largest weight and query gradient of %s at d_k = %d", plural(NR, "rule"), DMIN)

set output OUT
LEFT = 0.062; LABELS = 0.135; LINE_HEIGHT = 0.046; GAP = 0.065; OVER = 0.5
WIDE = (0.995 - LEFT - GAP) / 2 - LABELS
LEAD = 0.008 / WIDE
DK_ROOM = 0.03 + 0.020 * strlen(word(DKS, NDK))
set tmargin at screen 0.80; set bmargin at screen 0.125
set multiplot
eval heading(title_, sprintf("random rows of %d keys, q and k ~ N(0,1), gradient that reaches the weights ~ N(0,1)", N))
set xlabel "key width d_k (log scale)" noenhanced offset 0, 0.3
panel(p) = sprintf("set lmargin at screen %.9g; set rmargin at screen %.9g", LEFT + (p - 1) * (WIDE + LABELS + GAP), LEFT + (p - 1) * (WIDE + LABELS + GAP) + WIDE)
eval panel(1)
set title "largest weight, mean over rows (no unit)" noenhanced offset 0, -0.4
set ytics 0.2
do for [s in RUN] {
    eval find(s, N, "max_weight", "mean")
    eval add_label(twoline(s), colour(s), x1_, y1_ / 1.02)
}
eval SPREAD
eval DK_AXIS
plot [XLO:XHI] [0:1.02] for [s in RUN] CSV using (at(s, N, "max_weight", "mean") ? column("d_k") : NaN):(num("value")) with linespoints ls k_of(s) ps 0.9
unset label 1; unset label 2
eval RAW
eval panel(2)
set title "|dQ|, median row (no unit, log scale)" noenhanced offset 0, -0.4
BARE = 0
eval Y_TICKS
do for [s in RUN] {
    eval find(s, N, "dq_norm", "median")
    eval add_label(twoline(s), colour(s), x1_, gy(y1_))
}
eval SPREAD
eval DK_AXIS
set logscale y
plot [XLO:XHI] [YLO:YHI] for [s in RUN] CSV using (at(s, N, "dq_norm", "median") ? column("d_k") : NaN):(onlog(num("value"))) with linespoints ls k_of(s) ps 0.9
unset multiplot
unset output
