# What the figures of the stall experiment share beside common.gp. Each scripts/figures/stall_NAME.gp
# finds
#   picked(0)      are this row's optimizer and learning rate the first of its d_k and rule? Rows of
#                  others are left out, and the line under the title says so, with recipe_words
#   facts(a, b)    to eval: heading(a, b), and below it the options that are no defaults
#   DOWN           how much lower the panels begin because of them, in shares of the page

load HERE . "common.gp"

# (With --lr-unit logit every d_k and rule has learning rates of its own, so a pick for the whole file would not do.)
RECIPES = ""; NAMED = ""; CELLS = ""; PICKED = ""; OPTIMIZERS = ""; lr_least = 1e300; lr_most = 0
DESCENT = !has("optimizer")         # results of earlier versions: gradient descent
optimizer(x) = DESCENT ? "sgd" : stringcolumn("optimizer")
cell(x) = stringcolumn("d_k") . "|" . stringcolumn("scale")
named(x) = optimizer(0) . "|" . stringcolumn("lr")
recipe(x) = cell(0) . "|" . named(0)
picked(x) = in(PICKED, recipe(0))
pick(x) = in(CELLS, cell(0)) ? 0 : (CELLS = with(CELLS, cell(0)), PICKED = with(PICKED, recipe(0)), OPTIMIZERS = with(OPTIMIZERS, optimizer(0)), \
    LR = stringcolumn("lr"), lr_least = min(lr_least, column("lr")), lr_most = max(lr_most, column("lr")), 0)
stats CSV using (RECIPES = with(RECIPES, recipe(0)), NAMED = with(NAMED, named(0)), pick(0), 1) nooutput
# (stringcolumn of an empty last field is what stood there before.)
OPTIONS = system(sprintf("awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == \"options\") at = i } NR == 2 { if (at) print $at; exit }' <'%s'", quoted(CSV)))
row(s, d) = stringcolumn("scale") eq s && column("d_k") == d && picked(0)
# `eval runs_of(d_k)` sets RUN, the rules that ran at that width.
runs_of(d) = sprintf("RUN = ''; stats CSV using (s_ = stringcolumn('scale'), row(s_, %d) ? (RUN = with(RUN, s_), 1) : 1) nooutput", d)

# The steps asked for, if the file says so: all its runs may have ended early.
STEPS_ASKED = 0
if (has("steps")) {
    stats CSV using (STEPS_ASKED = max(STEPS_ASKED, num("steps")), 1) nooutput
}
asked(n) = max(n, STEPS_ASKED)

# The optimizer is said unless it is sgd everywhere.
DESCENT = (sum [i = 1:words(NAMED)] (word(NAMED, i)[1:4] ne "sgd|")) == 0
spoken(r) = (at_ = strstrt(r, "|"), (DESCENT ? "" : r[1:at_ - 1] . " ") . r[at_ + 1:*])
FIRST = ""
if (words(RECIPES) > words(PICKED)) {
    do for [r in NAMED] { FIRST = FIRST . (strlen(FIRST) ? ", " : "") . spoken(r) }
    FIRST = lr_most > lr_least || strlen(FIRST) > 24 ? sprintf(" (the first of %d)", words(RECIPES) / words(PICKED)) : " (first of " . FIRST . ")"
}
recipe_words = (OPTIMIZERS eq "sgd" ? "" : listed(OPTIMIZERS)[2:*] . ", ") . \
    (lr_most > 1.000001 * lr_least ? sprintf("lr %.3g to %.3g, by d_k and rule", lr_least, lr_most) : "lr " . LR) . FIRST

# Options in lines, each with its value beside it; what three lines cannot hold is cut.
OPTION_LINES = 0; OPTION_TEXT = ""
shown = ""; item = ""
do for [w in OPTIONS . " --"] {
    if (w[1:2] ne "--") { item = item . " " . w } else {
        if (strlen(item) > 106) { item = item[1:102] . " ..." }
        if (strlen(shown) + strlen(item) > 106) {
            OPTION_LINES = OPTION_LINES + 1
            if (OPTION_LINES < 4) { OPTION_TEXT = OPTION_TEXT . shown . (OPTION_LINES < 3 ? "\\n" : " ...") }
            shown = item
        } else {
            shown = shown . (strlen(shown) ? " " : "") . item
        }
        item = w
    }
}
if (OPTION_LINES < 3) { OPTION_TEXT = OPTION_TEXT . shown; OPTION_LINES = OPTION_LINES + (strlen(shown) > 0) } else { OPTION_LINES = 3 }
DOWN = 0.038 * OPTION_LINES * LEADING
facts(a, b) = heading(a, b) . (OPTION_LINES ? sprintf("set label 9 \"%s\" at screen 0.015, screen 0.862 left noenhanced textcolor rgb GREY font ',%.1f'", OPTION_TEXT, H2) : "")
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
