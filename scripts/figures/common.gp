# What the figures over d_k and rules share beside page.gp: palette, axes, labels. Not a figure itself.
# Each scripts/figures/NAME.gp sets NAME, CSV, OUT, KIND and NEEDS (the columns it reads), loads this file
# (those of `stall` stall_common.gp, of `saturation` saturation_common.gp, which load it),
# and then finds
#   SCALES, DKS   the scaling rules (none and sqrt first) and key widths (ascending) of the CSV
# Needs gnuplot 5.4 or later.

load HERE . "page.gp"

# ---- What is in the file.
set datafile missing NaN   # rows of other curves lie between a curve's own: no gaps for them
# A field as a number; "nan" must not make the row vanish, and inf (diverged) must sort last.
MISSING = -1e301
HUGE = 1e300
num(c)   = (t_ = stringcolumn(c), strlen(t_) == 0 || strstrt(t_, "nan") ? MISSING : strstrt(t_, "inf") ? HUGE : column(c))
known(v) = v != MISSING
# `eval sorted(list)` sets SORTED, its whole numbers ascending, each once.
sorted(list) = sprintf("SORTED = ''; do for [k = 1:words('%s')] { least = 0; \
    do for [d in '%s'] { if (!in(SORTED, d) && (least == 0 || d + 0 < least)) { least = d + 0 } }; \
    SORTED = with(SORTED, sprintf('%%d', least)) }", list, list)
SEEN = ""; WIDTHS = ""
stats CSV using (SEEN = with(SEEN, stringcolumn("scale")), WIDTHS = with(WIDTHS, stringcolumn("d_k")), 1) nooutput
SCALES = in(SEEN, "none") ? "none" : ""
if (in(SEEN, "sqrt")) { SCALES = with(SCALES, "sqrt") }
do for [s in SEEN] { SCALES = with(SCALES, s) }
do for [d in WIDTHS] { if (!digits(d)) { eval die("a d_k of " . plain(d) . " in " . plain(CSV)) } }
eval sorted(WIDTHS)
DKS = SORTED
if (words(SCALES) == 0 || word(DKS, 1) + 0 < 1) { eval die("no d_k and scale to be found in " . plain(CSV)) }
NS = words(SCALES); NDK = words(DKS)
DMIN = word(DKS, 1) + 0; DMAX = word(DKS, NDK) + 0
# stats leaves out what the axes leave out: no ranges, no log scale when it is to look at everything.
RAW = "unset logscale; set xrange [*:*]; set yrange [*:*]"

# ---- Words. Nothing but these labels knows a rule by name.
pretty(s) = s eq "none" ? "without the scale" : s eq "sqrt" ? "with 1/" . ROOT : s
short(s) = s eq "none" ? "no scale" : s eq "sqrt" ? "1/" . ROOT : s
twoline(s) = s eq "none" ? "without\nthe scale" : s eq "sqrt" ? "with\n1/" . ROOT : s
listed(l) = (l_ = "", sum [i = 1:words(l)] (l_ = l_ . (i > 1 ? ", " : " ") . word(l, i), 0), l_)
# ---- Palette: Okabe and Ito's, the lighter ones darkened so that text in them can be read; each
# rule has its own dashes and point too, for print in grey.
COLOURS = "#C24F00 #0A3F73 #00805C #B0508A #2778AB #946600 #000000 #707070"
POINTS  = "9 7 5 13 11 15 4 6"
k_of(s) = s eq "none" ? 1 : s eq "sqrt" ? 2 : other(s)
other(s) = (at = 0, n_ = 2, sum [i = 1:NS] (word(SCALES, i) eq "none" || word(SCALES, i) eq "sqrt" ? 0 : \
    (n_ = n_ + 1, word(SCALES, i) eq s ? (at = n_) : 0)), (at - 1) % 8 + 1)
colour(s) = word(COLOURS, k_of(s))
set style line 1 dt (7, 3)
set style line 2 dt solid
set style line 3 dt (2, 2)
set style line 4 dt (9, 3, 2, 3)
set style line 5 dt (4, 2)
set style line 6 dt (12, 3)
set style line 7 dt (1, 3)
set style line 8 dt (6, 2, 1, 2, 1, 2)
do for [k = 1:8] { set style line k lw 2 lc rgb word(COLOURS, k) pt int(word(POINTS, k)) ps 0.7 }
set style fill transparent solid 0.18 noborder
unset key
set border 3 lc rgb GREY
set tics nomirror out scale 0.5 textcolor rgb "#333333"


# ---- Log axes. Zeros are drawn on the axis, a decade under the least value, and the tick there says
# so; so are values under CAP, at CAP: they are not worth the room.
decade(v) = floor(log10(v) + 1e-9)
LO = 1e299; HI = 0; LOW = 0
look(v) = !known(v) || v >= HUGE ? 0 : v < CAP ? (LOW = max(LOW, v > 0 ? 2 : 1)) : (LO = min(LO, v), HI = max(HI, v), 0)
FIT = 'YLO = 10.0**decade(LO) / (LOW ? 10 : 1); YLO = LOW == 2 ? CAP : LOW ? max(YLO, CAP) : YLO; \
    e_ = decade(HI); m_ = 1.06 * HI / 10.0**e_; YHI = (m_ <= 2 ? 2 : m_ <= 5 ? 5 : m_ <= 10 ? 10 : 20) * 10.0**e_; \
    if (YHI < 10 * YLO) { YHI = 10 * YLO }'
# The ticks, with their numbers or (BARE) without, as a panel has them whose neighbour shows them.
MOST_TICKS = 9.0
roomy(high) = max(2, min(9, floor(high * 500 / 20.0)))   # of a panel as high as that
Y_TICKS = 'every_ = ceil((log10(YHI) - log10(YLO)) / MOST_TICKS); set ytics () enhanced; \
    do for [e = decade(YLO):decade(YHI)] { if ((e - decade(YLO)) % every_ == 0) { set ytics add ((BARE ? "" : tick(e)) 10.0**e) } }; \
    if (every_ == 1) { do for [e = decade(YLO):decade(YHI)] { do for [m = 2:9] { if (m * 10.0**e <= YHI) { set ytics add ("" m * 10.0**e 1) } } } }; \
    if (LOW) { set ytics add ((BARE ? "" : sprintf("0, <%s", tick(decade(YLO)))) YLO) }'
# One notation on an axis.
tick(e) = decade(YLO) >= -3 && decade(YHI) <= 3 ? sprintf("%g", 10.0**e) : sprintf("10^{%d}", e)
onlog(v) = !known(v) || v >= HUGE ? NaN : max(v, YLO)
gy(v) = log10(max(v, YLO) / YLO) / log10(YHI / YLO)   # the height of v in the graph, 0 to 1

# A d_k axis has its ticks at the widths that were run, thinned where they would touch.
DK_BARE = 0   # without the numbers, as a panel has them that stands above another
DK_AXIS = 'set logscale x 2; set xtics (); last_ = 0; \
    do for [k = NDK:1:-1] { d_ = word(DKS, k) + 0.0; if (last_ == 0 || log(last_ / d_) > DK_ROOM * log(XHI / XLO)) { \
        set xtics add ((DK_BARE ? "" : sprintf("%d", d_)) d_); last_ = d_ } }'
# ---- Labels at the curves' ends, in the right margin: `eval add_label(text, colour, x, height)`
# for each, then `eval SPREAD`, which moves them apart until none touches another.
array LG[40]; array LT[40]; array LC[40]; array LX[40]; array LP[40]; array LH[40]
NL = 0
add_label(t, c, x, g) = sprintf("NL = NL + 1; LT[NL] = \"%s\"; LC[NL] = '%s'; LX[NL] = %.9g; LG[NL] = %.9g", t, c, x, g)
lines(t) = strstrt(t, "\n") ? 1 + lines(t[strstrt(t, "\n") + 1:*]) : 1
LEADING = EXT eq ".svg" ? 1.12 : 1   # SVG sets lines further apart
OVER = 1   # how many lines a label may stand out above and below the graph
SPREAD = 'do for [i = 1:NL] { LP[i] = i; LH[i] = lines(LT[i]) * LINE_HEIGHT * LEADING }; \
    do for [n = 1:NL] { do for [i = 1:NL - 1] { if (LG[LP[i]] > LG[LP[i + 1]]) { t_ = LP[i]; LP[i] = LP[i + 1]; LP[i + 1] = t_ } } }; \
    array LN[40]; do for [i = 1:NL] { LN[i] = LG[i] }; \
    do for [n = 1:300] { \
        do for [i = 1:NL - 1] { a_ = LP[i]; b_ = LP[i + 1]; miss_ = (LH[a_] + LH[b_]) / 2 * 1.05 - (LN[b_] - LN[a_]); \
            if (miss_ > 0) { LN[a_] = LN[a_] - miss_ / 2; LN[b_] = LN[b_] + miss_ / 2 } }; \
        do for [i = 1:NL] { LN[i] = max(LH[i] / 2 - OVER * LINE_HEIGHT, min(1 - LH[i] / 2 + OVER * LINE_HEIGHT, LN[i])) } }; \
    do for [i = 1:40] { unset label 100 + i; unset arrow 100 + i }; \
    do for [i = 1:NL] { \
        set label 100 + i LT[i] at graph 1, graph LN[i] + (lines(LT[i]) - 1) * LINE_HEIGHT * LEADING / 2 left offset 1.0, 0 noenhanced textcolor rgb LC[i]; \
        set arrow 100 + i from first LX[i], graph LG[i] to graph 1 + LEAD, graph LN[i] nohead lw 0.7 dt (2, 2) lc rgb LC[i] }; \
    NL = 0'
