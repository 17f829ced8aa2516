# Which scaling rule keeps the softmax from saturating? Mean largest weight against d_k, a small panel a rule.
#   scripts/draw saturation_rules results/saturation.csv saturation_rules.png   (or .svg)
# Takes the CSV of any `sqrtdk saturation`; shows the number of keys nearest 16 and the first eight rules.
NAME = "saturation_rules"; CSV = ARG1; OUT = ARG2
HERE = ""
do for [i = 1:strlen(ARG0)] { if (ARG0[i:i] eq "/") { HERE = ARG0[1:i] } }
load HERE . "saturation_common.gp"

N = nearest_keys(16)
METRIC = "max_weight"; STATISTIC = "mean"
eval only(METRIC)
eval EIGHT

# How many rules hold their largest weight, within a tenth of its range, over all d_k?
HELD = 0
do for [s in RUN] {
    least_ = 1; most_ = 0
    stats ROWS using (at(s, N, METRIC, STATISTIC) ? (least_ = min(least_, num("value")), most_ = max(most_, num("value")), 1) : 1) nooutput
    if (most_ - least_ < 0.1) { HELD = HELD + 1 }
}
TITLE = NDK > 1 ? sprintf("%d of %s %s the mean largest weight within a span of 0.1 from d_k %d to %d", HELD, plural(words(RUN), "rule"), words(RUN) == 1 ? "keeps" : "keep", DMIN, DMAX) : \
    sprintf("Largest weight of %s at d_k %d", plural(words(RUN), "rule"), DMIN)
FACTS = sprintf("mean over %s %d keys, q and k ~ N(0,1)", DRAWN, N)
SAYS = "largest weight, mean over rows (no unit)"
LOGY = 0; YLO = 0; YHI = 1.02
SHOW(v) = v
load HERE . "saturation_panels.gp"
