# The two figures of all rules: a small panel a rule, that rule in its colour and dashes, the others grey
# behind it. Not a figure itself. A figure loads saturation_common.gp, sets RUN (the rules shown), N (keys),
# METRIC, STATISTIC, LOGY, YLO, YHI, SAYS (the axis), TITLE and FACTS, and loads this.

NR = words(RUN)
ACROSS = NR > 4 ? 4 : NR; DOWN = (NR + ACROSS - 1) / ACROSS
LEFT = LOGY ? 0.115 : 0.07; BOTTOM = 0.125; TOP = 0.86 - SINK; GAP = 0.035; HEAD = 0.055
WIDE = (0.97 - LEFT - (ACROSS - 1) * GAP) / ACROSS
HIGH = (TOP - BOTTOM - DOWN * HEAD - (DOWN - 1) * 0.02) / DOWN
is(s) = at(s, N, METRIC, STATISTIC)
DK_ROOM = (0.10 + 0.08 * strlen(word(DKS, NDK))) * ACROSS / 4.0

set output OUT
set multiplot
eval told(TITLE, FACTS . (NR > 1 && NDK > 1 ? "; grey: the other rules" : ""))
eval y_name(3, SAYS, 0.5 * (BOTTOM + TOP - HEAD))
set label 4 "key width d_k (log scale)" at screen LEFT + (0.97 - LEFT) / 2, screen 0.03 center noenhanced
do for [p = 1:NR] {
    s = word(RUN, p)
    across_ = (p - 1) % ACROSS; down_ = (p - 1) / ACROSS
    set lmargin at screen LEFT + across_ * (WIDE + GAP)
    set rmargin at screen LEFT + across_ * (WIDE + GAP) + WIDE
    top_ = TOP - HEAD - down_ * (HIGH + HEAD + 0.02)
    set tmargin at screen top_; set bmargin at screen top_ - HIGH
    BARE = across_ > 0
    if (LOGY) { unset logscale y; eval Y_TICKS } else { set ytics 0.5; set mytics 5; set format y (BARE ? "" : "%g") }
    eval DK_AXIS
    # Numbers of d_k under the lowest panel of each column.
    set format x (p + ACROSS > NR ? "%g" : "")
    if (p + ACROSS <= NR) { set xtics (); do for [d in DKS] { set xtics add ("" d + 0.0) } }
    set label 5 pretty(s) at graph 0, screen top_ + 0.028 left noenhanced textcolor rgb letters(s)
    if (LOGY) { set logscale y }
    OTHERS = ""
    do for [o in RUN] { if (o ne s) { OTHERS = with(OTHERS, o) } }
    # Put together as text, because a loop over nothing draws (and complains) once.
    eval 'plot [XLO:XHI] [YLO:YHI] ' . \
        (words(OTHERS) == 0 ? '' : 'for [o in OTHERS] ROWS using (is(o) ? column("d_k") : NaN):(SHOW(num("value"))) with lines lw 1 lc rgb "#BBBBBB", ') . \
        'ROWS using (is(s) ? column("d_k") : NaN):(SHOW(num("value"))) with linespoints ls k_of(s) lw 2.5 ps 0.6'
    unset label 1; unset label 2; unset label 3; unset label 4; unset label 9
}
unset multiplot
unset output
