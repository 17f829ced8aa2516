# Which learning rates train? For each optimizer a panel: a bar for each d_k and rule, over the rates
# that end trained, and in it a dot at the fastest of them, with its steps until the ratio was 0.1. Dots
# of a rule are joined: level where the best rate does not depend on d_k.
#   scripts/draw map_window results/window.csv map_window.png   (or .svg)
# Takes the CSV of a `sqrtdk map --axes lr`, or several in one, each with rates of its own; shows the first
# seed, two optimizers and four rules at most.
NAME = "map_window"; CSV = ARG1; OUT = ARG2; KIND = "the CSV of a map over rates"
NEEDS = "optimizer scale target target_gain batch tokens d_model d_v d_k seed lr gain steps verdict steps_to_0.1"
HERE = ""
do for [i = 1:strlen(ARG0)] { if (ARG0[i:i] eq "/") { HERE = ARG0[1:i] } }
load HERE . "map_common.gp"

if (PLANE) { eval die(plain(CSV) . " is a map over the plane; map_kappa draws those") }
PANELS = int(min(words(OPTIMIZERS), 2)); NR = int(min(NS, 4))
method(p) = word(OPTIMIZERS, p)
rule(r) = word(SCALES, r)
of(p, r) = stringcolumn("optimizer") eq method(p) && stringcolumn("scale") eq rule(r) && of_seed(0)
trained(x) = stringcolumn("verdict") eq "trained"

# Rates of a panel, and half the step between two of them, which a bar reaches beyond its outermost.
array FROM[2]; array UPTO[2]; array HALF[2]
do for [p = 1:PANELS] {
    FROM[p] = 1e300; UPTO[p] = 0; next_ = 1e300
    stats CSV using (stringcolumn("optimizer") eq method(p) ? (FROM[p] = min(FROM[p], num("lr")), UPTO[p] = max(UPTO[p], num("lr")), 1) : 1) nooutput
    stats CSV using (stringcolumn("optimizer") eq method(p) && num("lr") > FROM[p] * 1.000001 ? (next_ = min(next_, num("lr")), 1) : 1) nooutput
    HALF[p] = next_ < 1e299 ? sqrt(next_ / FROM[p]) : 1.5
}

# Bars stand beside each other at each d_k, WIDTH of a width's room apart.
WIDTH = 0.92 / NR
place(d, r) = (sum [k = 1:NDK] (word(DKS, k) + 0 <= d)) + (r - (NR + 1) / 2.0) * WIDTH

# The fastest rate of each, and for the title which rules have one and the same at every width.
array LEVEL[2]; array WITH_BAR[2]; array WITH_DOT[2]
set print $FASTEST
print "panel,rule,x,lr,steps"
do for [p = 1:PANELS] {
    LEVEL[p] = ""; WITH_BAR[p] = ""; WITH_DOT[p] = ""
    do for [r = 1:NR] {
        same_ = 1; before_ = -1
        do for [d in DKS] {
            soon_ = 1e300; at_ = -1
            stats CSV using (of(p, r) && column("d_k") == d + 0 && trained(0) && known(num("steps_to_0.1")) && num("steps_to_0.1") < soon_ ? \
                (soon_ = num("steps_to_0.1"), at_ = num("lr"), 1) : 1) nooutput
            # Without a rate there is no dot, and the line ends.
            print at_ > 0 ? sprintf("%d,%d,%.9g,%.9g,%d", p, r, place(d + 0, r), at_, soon_ + 1) : sprintf("%d,%d,%.9g,nan,0", p, r, place(d + 0, r))
            if (at_ > 0) { WITH_DOT[p] = with(WITH_DOT[p], sprintf("%d", r)) }
            same_ = same_ && at_ > 0 && (before_ < 0 || near(at_ / before_, 1)); before_ = at_
        }
        if (same_ && NDK > 1) { LEVEL[p] = with(LEVEL[p], rule(r)) }
    }
}
unset print
# A bar's name stands above its highest rate; without a bar at the panel's foot.
set print $TOPS
print "panel,rule,x,lr,bar,early"
do for [p = 1:PANELS] {
    do for [r = 1:NR] {
        do for [d in DKS] {
            top_ = -1
            early_ = 0; cells_ = 0
            stats CSV using (of(p, r) && column("d_k") == d + 0 ? (cells_ = cells_ + 1, early_ = early_ + (stringcolumn("verdict") eq "early"), \
                trained(0) ? (top_ = max(top_, num("lr"))) : 0, 1) : 1) nooutput
            if (top_ > 0) { WITH_BAR[p] = with(WITH_BAR[p], sprintf("%d", r)) }
            print sprintf("%d,%d,%.9g,%.9g,%d,%d", p, r, place(d + 0, r), top_ > 0 ? top_ * HALF[p] : FROM[p] / HALF[p], top_ > 0, early_ == 0 ? 0 : early_ == cells_ ? 2 : 1)
        }
    }
}
unset print
bar(p, r) = of(p, r) && trained(0) ? place(column("d_k"), r) : NaN
ours(p, r) = column("panel") == p && column("rule") == r ? column("x") : NaN
title_ = sprintf("The learning rates that train within %s", plural(STEPS, "step"))
if (PANELS == 2 && words(LEVEL[1]) == 1 && words(LEVEL[2]) == 1) {
    title_ = sprintf("The fastest lr tried is the same at every d_k with %s under %s, with %s under %s", short(LEVEL[1]), method(1), short(LEVEL[2]), method(2))
}

set output OUT
LEFT = 0.088; GAP = 0.075
WIDE = (0.99 - LEFT - GAP * (PANELS - 1)) / PANELS
panel(p) = sprintf("set lmargin at screen %.9g; set rmargin at screen %.9g", LEFT + (p - 1) * (WIDE + GAP), LEFT + (p - 1) * (WIDE + GAP) + WIDE)
set tmargin at screen 0.815; set bmargin at screen 0.125
set multiplot
# Where many bars stand side by side their names are upright, and there is no room for steps.
CRAMPED = NR * NDK > 12
eval heading(title_, SETTINGS . "; bars: lrs that train; dots: the fastest" . (CRAMPED ? "" : ", its steps to ratio 0.1"))
if (NS > NR || words(OPTIMIZERS) > PANELS) { set label 9 "not drawn:" . unshown(SCALES, NR) . unshown(OPTIMIZERS, PANELS) at screen 0.015, screen 0.868 left noenhanced textcolor rgb GREY font sprintf(",%.1f", H2) }
set xlabel "key width d_k" noenhanced offset 0, 0.3
eval y_name(3, "learning rate lr (log scale)", 0.47)
# Filled, hatched or crossed; each rate that was run has its edge, the text the rule's colour, darker.
FILLS = "#F6CDB0 #9DB8D6 #B7DDCF #E0BFD4"
EDGES = "#D98A55 #6E93BB #6DB39B #C48FB2"
DEEP = "#A84300 #0A3F73 #00654A #8A3A6B"
PATTERN = "5 3 4 1"
UPRIGHT = CRAMPED ? "rotate by 90 left offset 0, 0.3" : "center offset 0, 0.6"
steps_(n) = CRAMPED ? "" : sprintf("%d", n)
# What is plotted: of rules that have none no bar or dot, of which gnuplot would warn.
LINES = 'for [r in WITH_DOT[p]] $FASTEST using (ours(p, r + 0)):(column("lr")) with lines ls k_of(rule(r + 0)) lw 1.5 lc rgb word(DEEP, r + 0), '
BARS = 'for [r in WITH_BAR[p]] CSV using (bar(p, r + 0)):(column("lr")):(bar(p, r + 0) - WIDTH * 0.42):(bar(p, r + 0) + WIDTH * 0.42):(column("lr") / h_):(column("lr") * h_) \
    with boxxyerror fillcolor rgb word(FILLS, r + 0) fillstyle pattern int(word(PATTERN, r + 0)) border lc rgb word(EDGES, r + 0), '
DOTS = 'for [r in WITH_DOT[p]] $FASTEST using (ours(p, r + 0)):(column("lr")) with points pt spot(r + 0) ps 1.8 lc rgb "white", \
    for [r in WITH_DOT[p]] $FASTEST using (ours(p, r + 0)):(column("lr")) with points pt spot(r + 0) ps 1.2 lc rgb word(DEEP, r + 0), \
    for [r in WITH_DOT[p]] $FASTEST using (ours(p, r + 0)):(column("lr")):(steps_(column("steps"))) with labels offset 0, -0.95 noenhanced font FONT textcolor rgb "#111111", '
none_(early) = early == 2 ? (CRAMPED ? "too early to tell" : "too early\nto tell") : early > 0 ? (CRAMPED ? "no lr, some early" : "no lr,\nsome early") : "no lr"
# (A bar may be too narrow for more than a rule's own name.)
called(s) = WIDE * 800 * WIDTH / (NDK + 0.1) < 50 ? s : short(s)
NAMES = 'for [r = 1:NR] $TOPS using (ours(p, r)):(column("lr")):(called(rule(r)) . (column("bar") > 0 ? "" : (CRAMPED ? ": " : ":\n") . none_(column("early")))) with labels ' . UPRIGHT . ' noenhanced font FONT textcolor rgb word(DEEP, r)'
spot(r) = int(word(POINTS, k_of(rule(r))))
set tics noenhanced
set xtics ()
do for [k = 1:NDK] { set xtics add (word(DKS, k) k) }
XLO = 0.45; XHI = NDK + 0.55
do for [p = 1:PANELS] {
    eval panel(p)
    h_ = HALF[p]
    YLO = FROM[p] / h_**2.2; YHI = UPTO[p] * h_**2.4
    set title "under " . method(p) noenhanced offset 0, -0.4
    set ytics () noenhanced
    # A tick at each rate that was run, where there is room.
    rates_ = ""; last_ = 0
    stats CSV using (stringcolumn("optimizer") eq method(p) ? (rates_ = with(rates_, stringcolumn("lr")), 1) : 1) nooutput
    do for [l in rates_] { if (last_ == 0 || abs(log(l / last_)) > 0.06 * log(YHI / YLO)) { set ytics add (sprintf("%g", l + 0) l + 0.0); last_ = l + 0.0 } else { set ytics add ("" l + 0.0) } }
    set logscale y
    eval "plot [XLO:XHI] [YLO:YHI] " . (strlen(WITH_DOT[p]) ? LINES : "") . (strlen(WITH_BAR[p]) ? BARS : "") . (strlen(WITH_DOT[p]) ? DOTS : "") . NAMES
    unset for [k = 1:9] label k
}
unset multiplot
unset output
