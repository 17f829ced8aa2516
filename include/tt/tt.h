/* tt.h: the whole library. */
#ifndef TT_TT_H
#define TT_TT_H

#include "tt/arithmetic.h"
#include "tt/attention.h"
#include "tt/elementary.h"
#include "tt/gradcheck.h"
#include "tt/kernel.h"
#include "tt/mask.h"
#include "tt/norm.h"
#include "tt/ops.h"
#include "tt/optim.h"
#include "tt/rng.h"
#include "tt/rowstats.h"
#include "tt/scale.h"
#include "tt/softmax_error.h"
#include "tt/tape.h"
#include "tt/tensor.h"

#endif
