/* arithmetic.h: whether doubles are computed as the C standard's Annex F says. Some compiler
 * options let sums be taken in another order, products and sums be fused or numbers be flushed to
 * zero; a library built so does not compile or, where no macro shows it, is found out here.
 */
#ifndef TT_ARITHMETIC_H
#define TT_ARITHMETIC_H

#ifdef __cplusplus
extern "C" {
#endif

/* NULL, or what is wrong: a static text. Takes microseconds; for the start of a run whose bits are
 * to be those of every other machine. */
const char *tt_arithmetic_error(void);

#ifdef __cplusplus
}
#endif

#endif
