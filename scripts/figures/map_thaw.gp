# What thaws a run that stalled without the scale: the ratio against the step, a line a seed. And what a
# sharp start costs: the steps to a ratio of 0.1 at kappa 30 against d_k, a point a seed.
#   scripts/draw map_thaw results/thaw.csv map_thaw.png   (or .svg)
# Takes the CSV of scripts/thaw, and the _runs.csv beside it.
NAME = "map_thaw"; CSV = ARG1; OUT = ARG2; KIND = "the CSV of scripts/thaw"
NEEDS = "control from scale d_k seed step ratio"
HERE = ""
do for [i = 1:strlen(ARG0)] { if (ARG0[i:i] eq "/") { HERE = ARG0[1:i] } }
load HERE . "common.gp"
RUNS = CSV[1:strlen(CSV) - 4] . "_runs.csv"
if (strlen(system(sprintf("head -n 1 <'%s' 2>/dev/null | grep 'steps_to_0.1' || :", quoted(RUNS)))) == 0) { eval die("no column steps_to_0.1 in " . plain(RUNS) . ", or it cannot be read") }

# Rows of a control stand together; its name has blanks, so it goes by its number. All but the last are
# of one width, the first row's.
CAP = 1e-4
array CONTROL[40]
N = 0; last = ""; SEEDS = ""; XMAX = 1; DK = 0; SWITCH = 0
begun(x) = (last = stringcolumn("control"), N = N + 1, CONTROL[N] = last, DK = DK > 0 ? DK : int(column("d_k")), 0)
stats CSV using (stringcolumn("control") ne last ? begun(0) : 0, SEEDS = with(SEEDS, stringcolumn("seed")), \
    column("d_k") == DK ? (look(num("ratio")), XMAX = max(XMAX, num("step")), SWITCH = max(SWITCH, int(column("from")))) : 0, 1) nooutput
dummy = look(1.0)
eval FIT

# Colour is what a control changes: none of these stands for another scaling rule elsewhere.
stays(c) = c eq "lr 1"
drops(c) = strstrt(c, " then kappa") > 0
learns(c) = strstrt(c, " then temperature") > 0
warms(c) = strstrt(c, " warm-up") > 0
set style line 11 lw 1.5 dt (7, 3) lc rgb word(COLOURS, 1)
set style line 12 lw 1.5 dt (2, 2) lc rgb "#7A5400"
set style line 13 lw 1.5 dt (12, 3) lc rgb "#777777"
set style line 14 lw 1.5 dt (9, 3, 2, 3) lc rgb "#00734F"
set style line 15 lw 1.5 dt solid lc rgb "#000000"
set style line 16 lw 1.5 dt (2, 2) lc rgb "#8A3A6B"
faster(c) = c[strstrt(c, " at ") + 4:*] + 0 >= 1
look_of(c) = stays(c) ? 11 : drops(c) ? 12 : warms(c) ? 13 : learns(c) ? (faster(c) ? 14 : 16) : 15
INKS = "#B34E00 #7A5400 #666666 #00734F #000000 #8A3A6B"
ink(c) = word(INKS, look_of(c) - 10)
named(c) = stays(c) ? "lr 1" : drops(c) ? "then " . c[strstrt(c, "kappa"):*] : warms(c) ? "lr 1 after\na warm-up" : learns(c) ? "temperature at rate " . c[strstrt(c, " at ") + 4:*] : c . " from the start"
margin(t) = (blank_ = strstrt(t, " from the start"), blank_ ? t[1:blank_ - 1] . "\nfrom the start" : t)
at(n, s) = stringcolumn("control") eq CONTROL[n] && column("d_k") == DK && stringcolumn("seed") eq s

# Who came to 0.1, of those that the title names.
came = 0; thawed = 0; learned = 0; all = 0; dropped = 0
stats RUNS using (came = strlen(stringcolumn("steps_to_0.1")) > 0 && known(num("steps_to_0.1")), \
    c_ = stringcolumn("control"), drops(c_) ? (dropped = dropped + 1, thawed = thawed + came) : 0, \
    learns(c_) ? (all = all + 1, learned = learned + came) : 0, 1) nooutput
since(x) = num("steps_to_0.1") + 1 - num("from")
title_ = sprintf("At d_k = %d, without the scale: what thaws a run", DK)
if (dropped && all && thawed == dropped && learned == all) {
    stats RUNS using (drops(stringcolumn("control")) ? since(0) : NaN) name "SMALL" nooutput
    stats RUNS using (learns(stringcolumn("control")) ? since(0) : NaN) name "LEARNT" nooutput
    title_ = sprintf("Stalled at d_k %d: small steps thaw it in %.0f or more, a temperature in %.0f or less", DK, SMALL_min, LEARNT_max)
}

set output OUT
LINE_HEIGHT = 0.047; LEAD = 0.012; OVER = 0.5
BARE = 0
set tmargin at screen 0.80; set bmargin at screen 0.125
set multiplot
# (scripts/thaw leaves T, batch and d_model at their defaults.)
eval heading(title_, sprintf("without the scale, sgd, T 16, batch 32%s; kappa: nominal step in logits; %s", SWITCH ? sprintf("; temperature: learned from step %d on", SWITCH) : "", words(SEEDS) > 1 ? sprintf("%d seeds, each a line", words(SEEDS)) : "one seed"))
set lmargin at screen 0.098; set rmargin at screen 0.575
unset title
set xlabel "step (log scale)" noenhanced offset 0, 0.3
XMIN = 20
eval y_name(3, "loss / loss of not attending (ratio, log scale)", 0.4625)
eval Y_TICKS
# Each control's last step above the floor and its least and greatest ratio there.
array ENDX[40]; array LOW_[40]; array HIGH_[40]
do for [n = 1:N] {
    ENDX[n] = 0; LOW_[n] = 1e300; HIGH_[n] = 0
    do for [s in SEEDS] {
        stats CSV using (at(n, s) && num("ratio") > YLO ? (x_ = num("step"), y_ = num("ratio"), 1) : 1) nooutput
        ENDX[n] = max(ENDX[n], x_); LOW_[n] = min(LOW_[n], y_); HIGH_[n] = max(HIGH_[n], y_)
    }
}
# Those that end early have their labels left of the switch, where no curve comes; the others in the margin.
do for [n = 1:N] {
    middle_ = max(LINE_HEIGHT, gy(sqrt(LOW_[n] * HIGH_[n])))
    if (ENDX[n] < XMIN * (XMAX / XMIN)**0.7) {
        set label 200 + n named(CONTROL[n]) at first (SWITCH ? SWITCH : XMAX), graph middle_ right offset -1, 0 noenhanced textcolor rgb ink(CONTROL[n])
    } else {
        eval add_label(margin(named(CONTROL[n])), ink(CONTROL[n]), ENDX[n], middle_)
    }
}
eval add_label("not attending", GREY, XMAX, gy(1))
eval SPREAD
if (SWITCH) {
    set arrow 20 from first SWITCH, graph 0 to first SWITCH, graph 1 nohead lw 1 dt (2, 3) lc rgb GREY
    set label 20 sprintf("step %d", SWITCH) at first SWITCH, graph 1 center offset 0, 0.4 noenhanced textcolor rgb GREY
}
set logscale xy
plot [XMIN:XMAX] [YLO:YHI] 1 with lines lw 1 dt (2, 3) lc rgb GREY, \
    for [n = 1:N] for [s in SEEDS] CSV using (at(n, s) ? num("step") : NaN):(onlog(num("ratio"))) with lines ls look_of(CONTROL[n])
do for [n = 1:N] { unset label 200 + n }
do for [i = 1:40] { unset label 100 + i; unset arrow 100 + i }
unset label 1; unset label 2; unset label 20; unset arrow 20
unset logscale

# ---- The escape: all widths, and the power that fits the points best.
LAST = CONTROL[N]
escaped(x) = stringcolumn("control") eq LAST && known(num("steps_to_0.1"))
K = 0; SX = 0; SY = 0; SXX = 0; SXY = 0; YLO = 1e300; YHI = 0
add(x, y) = (K = K + 1, SX = SX + x, SY = SY + y, SXX = SXX + x * x, SXY = SXY + x * y, YLO = min(YLO, exp(y)), YHI = max(YHI, exp(y)), 0)
stats RUNS using (escaped(0) ? add(log(column("d_k")), log(num("steps_to_0.1") + 1)) : 0, 1) nooutput
spread_ = K * SXX - SX * SX
slope = spread_ > 1e-9 ? (K * SXY - SX * SY) / spread_ : 0
fitted(d) = exp((SY - slope * SX) / max(1, K)) * d**slope
set lmargin at screen 0.805; set rmargin at screen 0.985
set title LAST . " from the start" noenhanced offset 0, -0.4
set xlabel "d_k (log scale)" noenhanced offset 0, 0.3
set label 3 "steps to a ratio of 0.1 (log scale)" at screen 0.735, screen 0.4625 rotate by 90 center noenhanced
XLO = DMIN / 1.4; XHI = DMAX * 1.4
DK_ROOM = 0.22
eval DK_AXIS
if (K == 0) { YLO = 10; YHI = 1000 }
YLO = YLO / 1.6; YHI = YHI * 1.6
set ytics () ; do for [e = 0:9] { do for [m = 1:9] { set ytics add ((m == 1 || m == 2 || m == 5 ? sprintf("%d", m * 10**e) : "") (m * 10.0**e) (m == 1 ? 0 : 1)) } }
set logscale xy
if (slope) {
    x_ = sqrt(DMIN * DMAX)
    set label 21 sprintf("d_k^{%.2f}", slope) at first x_, first fitted(x_) left offset 1, -0.9 enhanced
    plot [XLO:XHI] [YLO:YHI] [DMIN:DMAX] fitted(x) with lines lw 1 dt (2, 2) lc rgb "#000000", \
        RUNS using (escaped(0) ? column("d_k") : NaN):(num("steps_to_0.1") + 1) with points pt 6 ps 0.9 lw 1.5 lc rgb "#000000"
} else {
    plot [XLO:XHI] [YLO:YHI] RUNS using (escaped(0) ? column("d_k") : NaN):(num("steps_to_0.1") + 1) with points pt 6 ps 0.9 lw 1.5 lc rgb "#000000"
}
unset multiplot
unset output
