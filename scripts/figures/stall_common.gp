# What the figures of the stall experiment share beside common.gp. Each scripts/figures/stall_NAME.gp
# finds
#   NR             how many recipes (an optimizer and a rate) to draw, at most MOST, which it sets: a panel each
#   `eval of(r)`   the r-th of each d_k and rule: picked(0) tells its rows from others, RECIPE names it
#   facts(a, b)    to eval: heading(a, b), and below it the settings: those of the .meta beside the CSV
#                  and the options that are no defaults
#   RATIO          the column that tells what trained, which the figure sets
#   DOWN           how much lower the panels begin because of them, in shares of the page

load HERE . "common.gp"

STEM = CSV[1:strlen(CSV) - strlen(CSV[strlen(CSV) - 3:*] eq ".csv" ? (strstrt(CSV, "_bands.csv") ? "_bands.csv" : strstrt(CSV, "_runs.csv") ? "_runs.csv" : ".csv") : "")]
meta(key) = system(sprintf("sed -n '/^$/q; s/^%s = //p' '%s.meta' 2>/dev/null || :", key, quoted(STEM)))

# With --lr-unit logit every d_k and rule has rates of its own, and so has every seed of a rule that
# measures its first batch: a recipe is a place in the order of such a cell's. PICKS[r] lists the r-th of each, CELLS[r] where there is one, RATES[r] what they are.
ALL = 64
array CELLS[ALL]; array PICKS[ALL]; array METHODS[ALL]; array RATES[ALL]; array LEAST_LR[ALL]; array MOST_LR[ALL]
do for [r = 1:ALL] { CELLS[r] = ""; PICKS[r] = ""; METHODS[r] = ""; RATES[r] = ""; LEAST_LR[r] = 1e300; MOST_LR[r] = 0 }
KNOWN = ""; NALL = 0
DESCENT = !has("optimizer")         # results of earlier versions: gradient descent
optimizer(x) = DESCENT ? "sgd" : stringcolumn("optimizer")
cell(x) = stringcolumn("d_k") . "|" . stringcolumn("scale") . (has("seed") ? "|" . stringcolumn("seed") : "")
recipe(x) = cell(0) . "|" . optimizer(0) . "|" . stringcolumn("lr")
entry(r) = r > ALL ? 0 : in(CELLS[r], cell(0)) ? entry(r + 1) : (NALL = max(NALL, r), CELLS[r] = with(CELLS[r], cell(0)), PICKS[r] = with(PICKS[r], recipe(0)), \
    METHODS[r] = with(METHODS[r], optimizer(0)), RATES[r] = stringcolumn("lr"), LEAST_LR[r] = min(LEAST_LR[r], column("lr")), MOST_LR[r] = max(MOST_LR[r], column("lr")), 0)
stats CSV using (in(KNOWN, recipe(0)) ? 1 : (KNOWN = with(KNOWN, recipe(0)), entry(1), 1)) nooutput
picked(x) = in(PICKED, recipe(0))
# The optimizer is said unless it is sgd everywhere.
PLAIN_SGD = (sum [r = 1:NALL] (METHODS[r] ne "sgd")) == 0
rate(r) = (MOST_LR[r] > 1.000001 * LEAST_LR[r] ? sprintf("lr %.3g to %.3g", LEAST_LR[r], MOST_LR[r]) : "lr " . RATES[r])
spoken(r) = PLAIN_SGD ? rate(r) : listed(METHODS[r])[2:*] . ", " . rate(r)
of(r) = sprintf("PICKED = PICKS[%d]; RECIPE = spoken(%d)", r, r)
NR = int(min(NALL, MOST))
# Of more recipes than can be drawn those come first at which something trained, in their own order.
if (NALL > MOST) {
    array GOOD[ALL]; array TURN[ALL]
    do for [r = 1:NALL] {
        GOOD[r] = 0
        stats CSV using (in(PICKS[r], recipe(0)) && (v_ = num(RATIO), known(v_) && v_ <= 0.1) ? (GOOD[r] = 1) : 1) nooutput
    }
    k_ = 0; TAKEN = ""
    do for [good_ in "1 0"] { do for [r = 1:NALL] { if (GOOD[r] == good_ + 0 && k_ < MOST) { k_ = k_ + 1; TAKEN = with(TAKEN, sprintf("%d", r)) } } }
    k_ = 0
    do for [taken_ in "1 0"] { do for [r = 1:NALL] { if (in(TAKEN, sprintf("%d", r)) == taken_ + 0) { k_ = k_ + 1; TURN[k_] = r } } }
    do for [list_ in "CELLS PICKS METHODS RATES LEAST_LR MOST_LR"] {
        do for [k = 1:NALL] { eval sprintf("GOOD[%d] = %s[%d]", k, list_, TURN[k]) }
        do for [k = 1:NALL] { eval sprintf("%s[%d] = GOOD[%d]", list_, k, k) }
    }
}
eval of(1)
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

# Settings in lines, each with its value beside it; what three lines cannot hold is cut.
joined(a, b) = strlen(a) && strlen(b) ? a . ", " . b : a . b
BASIC = PLAIN_SGD ? "sgd" : ""
if (NALL == 1) { BASIC = PLAIN_SGD ? "sgd, " . rate(1) : spoken(1) }
if (STEPS_ASKED) { BASIC = joined(BASIC, plural(STEPS_ASKED, "step")) }
do for [o in "tokens batch d-model d-v"] {
    v_ = meta(o)
    if (strlen(v_)) { BASIC = joined(BASIC, (o eq "tokens" ? "T" : o eq "d-model" ? "d_model" : o eq "d-v" ? "d_v" : o) . " " . v_) }
}
v_ = meta("seed")
if (strlen(v_)) { BASIC = joined(BASIC, (digits(v_) ? "seed " : "seeds ") . v_) }
if (NR > 1 && NR < NALL) {
    left_ = ""
    do for [r = NR + 1:NALL] { left_ = joined(left_, spoken(r)) }
    BASIC = BASIC . sprintf("; not drawn: %s", strlen(left_) > 60 ? sprintf("%d more", NALL - NR) : left_)
}
# (What the line says already.)
STATED = "--steps" . (strlen(meta("tokens")) ? " --tokens --batch --d-model --d-v" : "")
OPTION_LINES = 0; OPTION_TEXT = ""
shown = BASIC; item = ""
do for [w in OPTIONS . " --"] {
    if (w[1:2] ne "--") { item = item . " " . w } else {
        if (strlen(item) && in(STATED, word(item, 1))) { item = "" }
        if (strlen(item) > 106) { item = item[1:102] . " ..." }
        if (strlen(shown) + strlen(item) > 106) {
            OPTION_LINES = OPTION_LINES + 1
            if (OPTION_LINES < 4) { OPTION_TEXT = OPTION_TEXT . shown . (OPTION_LINES < 3 ? "\\n" : " ...") }
            shown = item
        } else {
            shown = shown . (strlen(shown) && strlen(item) ? "; " : "") . item
        }
        item = w
    }
}
if (OPTION_LINES < 3) { OPTION_TEXT = OPTION_TEXT . shown; OPTION_LINES = OPTION_LINES + (strlen(shown) > 0) } else { OPTION_LINES = 3 }
DOWN = 0.038 * OPTION_LINES * LEADING
facts(a, b) = heading(a, b) . (OPTION_LINES ? sprintf("set label 9 \"%s\" at screen 0.015, screen 0.862 left noenhanced textcolor rgb GREY font ',%.1f'", OPTION_TEXT, H2) : "")
# What a figure leaves out of a list of the file's.
less(what, all, shown) = (l_ = '', sum [i = 1:words(all)] (in(shown, word(all, i)) ? 0 : (l_ = joined(l_, word(all, i)), 0)), strlen(l_) ? sprintf('not drawn: %s%s', what, l_) : '')
# `eval also(text)` puts it at the end of the settings: on a line of its own where it has no room.
also(text) = sprintf("m_ = '%s'; if (strlen(m_)) { if (strlen(shown) + strlen(m_) < 110) { OPTION_TEXT = OPTION_TEXT . (OPTION_LINES ? '; ' : '') . m_; OPTION_LINES = max(OPTION_LINES, 1) } \
    else { OPTION_TEXT = OPTION_TEXT . '\\n' . m_; OPTION_LINES = OPTION_LINES + 1 }; DOWN = 0.038 * OPTION_LINES * LEADING }", text)
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
