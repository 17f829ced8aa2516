# What the figures of the stall experiment share beside common.gp. Each scripts/figures/stall_NAME.gp
# finds
#   picked(0)     is this row's learning rate the first of its d_k and rule? Rows of others are left out,
#                 and the line under the title says so

load HERE . "common.gp"

# (With --lr-unit logit every d_k and rule has learning rates of its own, so a pick for the whole file would not do.)
LRS = ""; PICKED = ""; PICKED_LRS = ""; lr_least = 1e300; lr_most = 0
cell(x) = stringcolumn("d_k") . "|" . stringcolumn("scale") . "|"
picked(x) = in(PICKED, cell(0) . stringcolumn("lr"))
pick(lr) = strstrt(" " . PICKED, " " . cell(0)) ? 0 : (PICKED = with(PICKED, cell(0) . lr), PICKED_LRS = with(PICKED_LRS, lr), \
    lr_least = min(lr_least, column("lr")), lr_most = max(lr_most, column("lr")), 0)
stats CSV using (LRS = with(LRS, stringcolumn("lr")), pick(stringcolumn("lr")), 1) nooutput
row(s, d) = stringcolumn("scale") eq s && column("d_k") == d && picked(0)
# `eval runs_of(d_k)` sets RUN, the rules that ran at that width.
runs_of(d) = sprintf("RUN = ''; stats CSV using (s_ = stringcolumn('scale'), row(s_, %d) ? (RUN = with(RUN, s_), 1) : 1) nooutput", d)

# The steps asked for, if the file says so: all its runs may have ended early.
STEPS_ASKED = 0
if (has("steps")) {
    stats CSV using (STEPS_ASKED = max(STEPS_ASKED, num("steps")), 1) nooutput
}
asked(n) = max(n, STEPS_ASKED)

lr_words = lr_most > 1.000001 * lr_least ? sprintf("lr %.3g to %.3g, by d_k and rule", lr_least, lr_most) : \
    "lr " . word(LRS, 1) . (words(LRS) > words(PICKED_LRS) ? " (first of" . listed(LRS) . ")" : "")
over_seeds(n) = n > 1 ? sprintf("median, band = quartiles over %d seeds", n) : "one seed, so no band"
PAIR = (NS == 2 && in(SEEN, "none") && in(SEEN, "sqrt"))   # the lesson's own comparison: the title can say who wins

# About three ticks on a step axis; at most 200 points a curve, which is all that can be seen
# (fewer where there are many rules, so that an SVG stays small).
STEP_AXIS = 'raw_ = XMAX / 2.5; p_ = 10.0**decade(raw_); m_ = raw_ / p_; \
    set xtics 0, max(1, p_ * (m_ < 1.5 ? 1 : m_ < 3.5 ? 2 : m_ < 7.5 ? 5 : 10))'
before = -1
BINS = max(60, min(200, 530 / NS))
bin(x) = int(1.0 * BINS * x / XMAX)
keep(x) = bin(x) != before || x <= 0 || x >= XMAX ? (before = bin(x), 1) : 0
