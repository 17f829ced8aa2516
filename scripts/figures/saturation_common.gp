# What the figures of the saturation experiment share beside common.gp. Each takes the CSV of a
# `sqrtdk saturation` (long form: a row for each d_k, keys, scale, metric and statistic) and finds beside
# it the _theory.csv, exact means on a dense grid.
#   KEYS          the numbers of keys (ascending);  nearest_keys(16) the one nearest 16
#   at(s, n, m, statistic)   is this row of the CSV that one?
#   LINES                    the rules that have exact values
#   line_at(s, n)            is this row of THEORY of that rule (one of LINES) and number of keys?

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

# `eval find(rule, keys, metric, statistic)` sets x0_, y0_ and x1_, y1_: d_k and value at the least and
# the greatest d_k; x1_ stays 0 where there is none.
find(s, n, m, t) = sprintf("x0_ = 0; x1_ = 0; y0_ = 0; y1_ = 0; stats CSV using (at('%s', %d, '%s', '%s') ? (v_ = num('value'), d_ = column('d_k'), \
    x0_ == 0 || d_ < x0_ ? (x0_ = d_, y0_ = v_) : 0, d_ >= x1_ ? (x1_ = d_, y1_ = v_) : 0, 1) : 1) nooutput", s, n, m, t)
XLO = NDK > 1 ? DMIN * 1.0 : DMIN / 2.0; XHI = NDK > 1 ? DMAX * 1.0001 : DMIN * 2.0
# Of the rules none and sqrt those that ran, else the first: what the figures of one or two rules show.
PAIR = ""
do for [s in "none sqrt"] { if (in(SCALES, s)) { PAIR = with(PAIR, s) } }
if (words(PAIR) == 0) { PAIR = word(SCALES, 1) }
PAIR_LINES = ""
do for [s in PAIR] { if (in(LINES, s)) { PAIR_LINES = with(PAIR_LINES, s) } }
BARS = "bars = 2 standard errors, mostly smaller than the points"
