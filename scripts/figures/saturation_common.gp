# What the figures of the saturation experiment share beside common.gp. Each takes the CSV of a
# `sqrtdk saturation` (long form: a row for each d_k, keys, scale, metric and statistic) and finds beside
# it the _theory.csv, exact means on a dense grid.
#   KEYS          the numbers of keys (ascending);  nearest_keys(16) the one nearest 16
#   ROWS                     what to read the CSV by: `eval only(metrics)` leaves the rows of these metrics
#   at(s, n, m, statistic)   is this row of the CSV that one?
#   left_out(rules, keys)    to eval: of which rules and numbers of keys a figure that shows these says that they
#                            are not drawn, and SINK, how much lower its panels begin for it;
#                            told(a, b) is heading(a, b) with that below it
#   DRAWN                    what was drawn, for the subtitle: "10000 random rows of", from .meta where there is one
#   LINES                    the rules that have exact values
#   line_at(s, n)            is this row of THEORY of that rule (one of LINES) and number of keys?
#   shade(s, i)              colour of the i-th number of keys under a rule; ink(s, i) the same for text,
#                            letters(s) of a rule alone

NEEDS = "d_k keys scale metric statistic value standard_error theory z"
KIND = "the CSV of a saturation run, not one by --sigma,"
load HERE . "common.gp"

THEORY = (strlen(CSV) > 4 && CSV[strlen(CSV) - 3:*] eq ".csv" ? CSV[1:strlen(CSV) - 4] : CSV) . "_theory.csv"
if (strlen(system(sprintf("sed -n 1p '%s' 2>/dev/null || :", quoted(THEORY)))) == 0) { eval die("cannot read " . plain(THEORY) . ", which the run wrote beside its CSV") }
BAD = ragged(THEORY)
if (strlen(BAD)) { eval die("line " . BAD . " of " . plain(THEORY) . " has not the number of fields of its header: a file cut short?") }

LINES = ""
if (strlen(system(sprintf("sed -n 2p '%s'", quoted(THEORY))))) { stats THEORY using (LINES = with(LINES, stringcolumn("scale")), 1) nooutput }
SEEN = ""
stats CSV using (SEEN = with(SEEN, stringcolumn("keys")), 1) nooutput
eval sorted(SEEN)
KEYS = SORTED; NK = words(KEYS)
nearest_keys(n) = (b_ = word(KEYS, 1) + 0, sum [i = 1:NK] (abs(log(word(KEYS, i) / (1.0 * n))) < abs(log(b_ / (1.0 * n))) ? (b_ = word(KEYS, i) + 0) : 0, 0), b_)
at(s, n, m, t) = stringcolumn("scale") eq s && column("keys") == n && stringcolumn("metric") eq m && stringcolumn("statistic") eq t
line_at(s, n) = stringcolumn("scale") eq s && column("keys") == n

ROWS = CSV
only(list) = sprintf("ROWS = \"< awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == \\\"metric\\\") m = i; print; next } \
    index(\\\" %s \\\", \\\" \\\" $m \\\" \\\")' \" . sprintf(\"'%%s'\", quoted(CSV))", list)
META = THEORY[1:strlen(THEORY) - 11] . ".meta"
setting(k) = system(sprintf("sed -n 's/^%s = //p' '%s' 2>/dev/null || :", k, quoted(META)))
DRAWN = (r_ = setting("rows"), z_ = setting("seed"), (strlen(r_) ? r_ . " " : "") . "random rows" . (strlen(z_) && z_ ne "0" ? " (seed " . z_ . ")" : "") . " of")

# `eval find(rule, keys, metric, statistic)` sets x0_, y0_ and x1_, y1_: d_k and value at the least and
# the greatest d_k; x1_ stays 0 where there is none.
find(s, n, m, t) = sprintf("x0_ = 0; x1_ = 0; y0_ = 0; y1_ = 0; stats ROWS using (at('%s', %d, '%s', '%s') ? (v_ = num('value'), d_ = column('d_k'), \
    x0_ == 0 || d_ < x0_ ? (x0_ = d_, y0_ = v_) : 0, d_ >= x1_ ? (x1_ = d_, y1_ = v_) : 0, 1) : 1) nooutput", s, n, m, t)
# `eval on_line(rule, keys, column, d_k)` sets y_ to the exact value there, between the grid's points;
# `eval crossing(rule, keys, column, value)` sets x_ to the first d_k at which the line has that value. 0 where
# there is none.
walk(s, n, m, found) = sprintf("x_ = 0; y_ = 0; xp_ = 0; yp_ = 0; stats THEORY using (line_at('%s', %d) ? (v_ = num('%s'), d_ = column('d_k'), \
    %s, xp_ = d_, yp_ = v_, 1) : 1) nooutput", s, n, m, found)
on_line(s, n, m, x) = !in(LINES, s) ? "y_ = 0" : walk(s, n, m, sprintf("xp_ > 0 && xp_ <= %.9g && d_ >= %.9g ? (y_ = yp_ + (v_ - yp_) * log(%.9g / xp_) / log(d_ / xp_)) : 0", x, x, x))
crossing(s, n, m, y) = !in(LINES, s) ? "x_ = 0" : walk(s, n, m, sprintf("xp_ > 0 && x_ == 0 && (yp_ - %.9g) * (v_ - %.9g) <= 0 && v_ != yp_ ? (x_ = xp_ * (d_ / xp_)**((%.9g - yp_) / (v_ - yp_))) : 0", y, y, y))

# Shades of four numbers of keys, few keys light; text in the lightest would be too pale.
SHADES_NONE = "#E07B32 #C05400 #8F3F00 #5A2800"
SHADES_SQRT = "#5E9BD1 #2F74B5 #17518A #0A2F57"
SHADES_ELSE = "#8A8A8A #666666 #444444 #111111"
shades(s) = s eq "none" ? SHADES_NONE : s eq "sqrt" ? SHADES_SQRT : SHADES_ELSE
shade(s, i) = word(shades(s), NK > 1 ? i : 2)
ink(s, i) = word(shades(s), NK > 1 ? max(2, i) : 2)
# Words in a rule's own colour, dark enough to be read on white (4.5 to 1).
letters(s) = s eq "none" ? word(SHADES_NONE, 2) : s eq "sqrt" ? colour(s) : "#333333"

XLO = NDK > 1 ? DMIN * 1.0 : DMIN / 2.0; XHI = NDK > 1 ? DMAX * 1.0001 : DMIN * 2.0
# Of the rules none and sqrt those that ran, else the first: what the figures of one or two rules show.
PAIR = ""
do for [s in "none sqrt"] { if (in(SCALES, s)) { PAIR = with(PAIR, s) } }
if (words(PAIR) == 0) { PAIR = word(SCALES, 1) }
# (Lines have ends: none at one d_k.)
PAIR_LINES = ""
do for [s in PAIR] { if (in(LINES, s) && NDK > 1) { PAIR_LINES = with(PAIR_LINES, s) } }
listed_rules(l) = strlen(l) > 40 ? plural(words(l), "more rule") : listed(l)[2:*]
left_out(rules, keys) = sprintf("LEFT_OUT = ''; o_ = ''; do for [s in SCALES] { if (!in('%s', s)) { o_ = with(o_, s) } }; \
    if (strlen(o_)) { LEFT_OUT = (words(o_) > 1 ? 'the rules ' : 'the rule ') . listed_rules(o_) }; \
    o_ = ''; do for [n in KEYS] { if (!in('%s', n)) { o_ = with(o_, n) } }; \
    if (strlen(o_)) { LEFT_OUT = LEFT_OUT . (strlen(LEFT_OUT) ? '; ' : '') . 'n =' . listed(o_) }; \
    SINK = strlen(LEFT_OUT) ? 0.035 : 0", rules, keys)
told(a, b) = heading(a, b) . (strlen(LEFT_OUT) ? sprintf("set label 9 'not drawn: %s' at screen 0.015, screen 0.868 left noenhanced textcolor rgb GREY font ',%.1f'", LEFT_OUT, H2) : "")
# `eval EIGHT` sets RUN, the rules of the figures of all rules: eight at most.
EIGHT = 'RUN = ""; do for [i = 1:min(NS, 8)] { RUN = with(RUN, word(SCALES, i)) }; \
    eval left_out(RUN, sprintf("%d", N))'
