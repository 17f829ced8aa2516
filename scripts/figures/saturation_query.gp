# What does a query feel under each scaling rule? Median |dQ| against d_k, a small panel a rule.
#   scripts/draw saturation_query results/saturation.csv saturation_query.png   (or .svg)
# Takes the CSV of any `sqrtdk saturation`; shows the number of keys nearest 16 and the first eight rules.
NAME = "saturation_query"; CSV = ARG1; OUT = ARG2
HERE = ""
do for [i = 1:strlen(ARG0)] { if (ARG0[i:i] eq "/") { HERE = ARG0[1:i] } }
load HERE . "saturation_common.gp"

N = nearest_keys(16)
METRIC = "dq_norm"; STATISTIC = "median"
eval only(METRIC)
eval EIGHT

CAP = 1e-8
felt(v) = v > 1e-14 ? v : 0     # at d_k = 1 a cosine is 1 or -1 and its gradient 0, but for rounding
stats ROWS using (in(RUN, stringcolumn("scale")) && at(stringcolumn("scale"), N, METRIC, STATISTIC) ? (look(felt(num("value"))), 1) : 1) nooutput
if (HI == 0) { eval die("no median of dq_norm in " . plain(CSV)) }
eval FIT

TITLE = "What the typical query feels under each rule"
if (in(RUN, "none") && in(RUN, "sqrt")) {
    eval find("none", N, METRIC, STATISTIC)
    u_ = y1_
    eval find("sqrt", N, METRIC, STATISTIC)
    TITLE = sprintf("The typical query's gradient at d_k %d is %.2g without the scale, %.2g with it", DMAX, u_, y1_)
}
FACTS = sprintf("|dQ|, median over %s %d keys; the gradient that reaches the weights ~ N(0,1)", DRAWN, N)
SAYS = "|dQ|, median row (no unit, log scale)"
LOGY = 1
SHOW(v) = onlog(felt(v))
load HERE . "saturation_panels.gp"
