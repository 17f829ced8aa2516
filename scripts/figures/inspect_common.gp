# What the figures of `sqrtdk inspect` share beside page.gp, for a figure that has loaded it and knows STEM,
# the CSV's name without what --output did not name. Not a figure itself.
#   SETTINGS    the mask, of STEM.meta where there is one: ", mask causal", or nothing
# and, for names of layers (LAYERS, a list) that do not fit, `eval SHORTEN`, which sets
#   SHORT, WHOLE   what stands for each, and what for all: "0 4" and "layer (layer*_q)"

setting(s) = system(sprintf("sed -n 's/^%s = //p' '%s.meta' 2>/dev/null | head -n 1 || :", s, quoted(STEM)))
MASK = setting("causal") eq "yes" ? "causal" : setting("mask")
SETTINGS = (strlen(MASK) && MASK ne "none" ? ", mask " . MASK : "") . (strlen(setting("key-lengths")) ? ", key lengths" : "") \
    . (strlen(setting("allowed")) ? ", allowed" : strlen(setting("hidden")) ? ", hidden" : strlen(setting("mask-additive")) ? ", additive mask" : "")
longest(list) = (n_ = 0, sum [i = 1:words(list)] (n_ = max(n_, strlen(word(list, i))), 0), n_)

# What all begin and end with is left out, but no part of a number. Names that are long all the same
# give way to their places.
MOST_CHARS = 24
middles(list) = system("echo '" . list . "' | LC_ALL=C awk '{ a = b = length($1); \
    for (i = 2; i <= NF; i++) { while (substr($i, 1, a) != substr($1, 1, a)) a--; \
        while (b > length($i) || substr($i, length($i) - b + 1) != substr($1, length($1) - b + 1)) b-- } \
    while (a && substr($1, a, 1) ~ /[0-9]/) a--; while (b && substr($1, length($1) - b + 1, 1) ~ /[0-9]/) b--; \
    for (i = 1; i <= NF; i++) if (NF == 1 || !(a + b) || a + b >= length($i)) exit; \
    printf \"layer (%s*%s)\", substr($1, 1, a), substr($1, length($1) - b + 1); \
    for (i = 1; i <= NF; i++) printf \" %s\", substr($i, a + 1, length($i) - a - b) }'")
SHORTEN = 'cut_ = middles(LAYERS); \
    if (strlen(cut_)) { WHOLE = word(cut_, 1) . " " . word(cut_, 2); SHORT = cut_[strlen(WHOLE) + 2:*] }; \
    if (longest(SHORT) > MOST_CHARS) { SHORT = ""; WHOLE = "layer: its place in the file, from 0 (see --layers)"; \
        do for [i = 1:words(LAYERS)] { SHORT = with(SHORT, sprintf("%d", i - 1)) } }'
