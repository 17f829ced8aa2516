/* elementary.c: the scalar functions with their special cases, and the tables, which
 * scripts/golden/make_elementary.py writes. How the numbers come about stands in
 * elementary_lanes.h.
 */
#include "tt/elementary.h"

#include <float.h>
#include <math.h>

#define TT_WIDTH 1
#include "elementary_lanes.h"

/* ---- Tables ---------------------------------------------------------------------------------- */

/* For m in [1 + j/128, 1 + (j+1)/128): c near 1/m, a multiple of 2^-8, and -ln c = hi + lo to
 * 2^-74, hi a multiple of 2^-42. c is 1 for the first and 1/2 for the last, so that near 1, on
 * either side, the logarithm is that of 1 + r alone. */
const tt_log_row tt_logs[128] = {
    {1, 0, 0},
    {0x1.fap-1, 0x1.82448a388p-7, 0x1.4554413p-44},
    {0x1.f6p-1, 0x1.432a92598p-6, 0x1.98139928p-47},
    {0x1.f2p-1, 0x1.c63d2ec15p-6, -0x1.5439cep-44},
    {0x1.eep-1, 0x1.252f32f8dp-5, 0x1.83e9aep-45},
    {0x1.eap-1, 0x1.67c94f2d48p-5, 0x1.dac20828p-44},
    {0x1.e8p-1, 0x1.894aa149f8p-5, 0x1.9a19a8cp-44},
    {0x1.e4p-1, 0x1.ccb73cddd8p-5, 0x1.965c36ep-44},
    {0x1.ep-1, 0x1.08598b59e4p-4, -0x1.7e5dd7p-46},
    {0x1.dcp-1, 0x1.2aa04a447p-4, 0x1.7a48ba88p-44},
    {0x1.dap-1, 0x1.3bdf5a7d2p-4, -0x1.19bd0adp-44},
    {0x1.d6p-1, 0x1.5e95a4d978p-4, 0x1.1cb7ce2p-44},
    {0x1.d2p-1, 0x1.8197e2f41p-4, -0x1.c0fe461p-44},
    {0x1.dp-1, 0x1.9335e5d594p-4, 0x1.3115c3a8p-45},
    {0x1.ccp-1, 0x1.b6ac88dad4p-4, 0x1.b1bdff5p-44},
    {0x1.c8p-1, 0x1.da72763844p-4, 0x1.a89401f8p-46},
    {0x1.c6p-1, 0x1.ec739830ap-4, 0x1.11fcba8p-44},
    {0x1.c2p-1, 0x1.08598b59e4p-3, -0x1.7e5dd7p-45},
    {0x1.cp-1, 0x1.1178e8227ep-3, 0x1.1ef78cep-45},
    {0x1.bcp-1, 0x1.23d712a49cp-3, 0x1.00d239p-46},
    {0x1.bap-1, 0x1.2d1610c868p-3, 0x1.39d6ccb8p-47},
    {0x1.b6p-1, 0x1.3fb45a5992p-3, 0x1.19713c1p-44},
    {0x1.b4p-1, 0x1.4913d8333cp-3, -0x1.53e43558p-44},
    {0x1.bp-1, 0x1.5bf406b544p-3, -0x1.27023eb8p-46},
    {0x1.aep-1, 0x1.6574ebe8c2p-3, -0x1.98c1d35p-44},
    {0x1.aap-1, 0x1.7898d85444p-3, 0x1.8e67be4p-44},
    {0x1.a8p-1, 0x1.823c16551ap-3, 0x1.e0ddb9a8p-46},
    {0x1.a6p-1, 0x1.8beafeb39p-3, -0x1.73d54abp-47},
    {0x1.a2p-1, 0x1.9f6c40708ap-3, -0x1.337d94cp-44},
    {0x1.ap-1, 0x1.a93ed3c8aep-3, -0x1.87243508p-45},
    {0x1.9ep-1, 0x1.b31d8575bcp-3, 0x1.c794e56p-44},
    {0x1.9ap-1, 0x1.c6ffbc6fp-3, 0x1.ee138d38p-44},
    {0x1.98p-1, 0x1.d1037f2656p-3, -0x1.84a7e758p-47},
    {0x1.96p-1, 0x1.db13db0d48p-3, 0x1.2806a848p-44},
    {0x1.94p-1, 0x1.e530effe72p-3, -0x1.fdbdbb1p-44},
    {0x1.9p-1, 0x1.f991c6cb3cp-3, -0x1.90d04cd8p-44},
    {0x1.8ep-1, 0x1.01eae5626cp-2, 0x1.a43dcfbp-44},
    {0x1.8cp-1, 0x1.07138604d6p-2, -0x1.e76324e8p-44},
    {0x1.8ap-1, 0x1.0c42d67616p-2, 0x1.7188b16p-45},
    {0x1.88p-1, 0x1.1178e8227ep-2, 0x1.1ef78cep-44},
    {0x1.84p-1, 0x1.1bf99635a7p-2, -0x1.1ac89578p-44},
    {0x1.82p-1, 0x1.214456d0ecp-2, -0x1.caf04288p-44},
    {0x1.8p-1, 0x1.269621134ep-2, -0x1.1b61f108p-44},
    {0x1.7ep-1, 0x1.2bef07cdc9p-2, 0x1.a9cfa4a8p-45},
    {0x1.7cp-1, 0x1.314f1e1d36p-2, -0x1.8e27ad3p-45},
    {0x1.7ap-1, 0x1.36b6776be1p-2, 0x1.16ecdb1p-46},
    {0x1.78p-1, 0x1.3c25277333p-2, 0x1.83b54b6p-46},
    {0x1.76p-1, 0x1.419b423d5fp-2, -0x1.ce379228p-44},
    {0x1.74p-1, 0x1.4718dc271cp-2, 0x1.06c18fb8p-44},
    {0x1.72p-1, 0x1.4c9e09e173p-2, -0x1.e20891bp-45},
    {0x1.7p-1, 0x1.522ae0738ap-2, 0x1.ebe70818p-45},
    {0x1.6ep-1, 0x1.57bf753c8dp-2, 0x1.fadedee8p-46},
    {0x1.6cp-1, 0x1.5d5bddf596p-2, -0x1.a0b2a088p-47},
    {0x1.6ap-1, 0x1.630030b3abp-2, -0x1.db623e7p-45},
    {0x1.68p-1, 0x1.68ac83e9c7p-2, -0x1.7af966c8p-44},
    {0x1.66p-1, 0x1.6e60ee6af2p-2, -0x1.a37a6a1p-44},
    {0x1.64p-1, 0x1.741d876c68p-2, -0x1.13a7b5bp-44},
    {0x1.62p-1, 0x1.79e26687dp-2, -0x1.309c1688p-44},
    {0x1.6p-1, 0x1.7fafa3bd81p-2, 0x1.46fb79cp-44},
    {0x1.5ep-1, 0x1.85855776ddp-2, -0x1.01548668p-44},
    {0x1.5cp-1, 0x1.8b639a88b3p-2, -0x1.05ae1e6p-45},
    {0x1.5ap-1, 0x1.914a8635bfp-2, 0x1.a2652b48p-44},
    {0x1.58p-1, 0x1.973a343135p-2, 0x1.ab73b168p-44},
    {0x1.56p-1, 0x1.9d32bea15fp-2, -0x1.6279e11p-45},
    {0x1.54p-1, 0x1.a33440225p-2, -0x1.61cdd4p-44},
    {0x1.52p-1, 0x1.a93ed3c8aep-2, -0x1.87243508p-44},
    {0x1.5p-1, 0x1.af5295248dp-2, -0x1.17cc5528p-45},
    {0x1.5p-1, 0x1.af5295248dp-2, -0x1.17cc5528p-45},
    {0x1.4ep-1, 0x1.b56fa04463p-2, -0x1.bdab6b48p-44},
    {0x1.4cp-1, 0x1.bb9611b80ep-2, 0x1.7d85bf4p-45},
    {0x1.4ap-1, 0x1.c1c60693fap-2, 0x1.cec808p-45},
    {0x1.48p-1, 0x1.c7ff9c7455p-2, 0x1.324911f8p-44},
    {0x1.46p-1, 0x1.ce42f18064p-2, 0x1.d0d0798p-44},
    {0x1.46p-1, 0x1.ce42f18064p-2, 0x1.d0d0798p-44},
    {0x1.44p-1, 0x1.d490246dfp-2, -0x1.652280bp-44},
    {0x1.42p-1, 0x1.dae75484c9p-2, 0x1.856f4a8p-44},
    {0x1.4p-1, 0x1.e148a1a272p-2, 0x1.b36537ep-44},
    {0x1.3ep-1, 0x1.e7b42c3ddbp-2, -0x1.46550538p-45},
    {0x1.3ep-1, 0x1.e7b42c3ddbp-2, -0x1.46550538p-45},
    {0x1.3cp-1, 0x1.ee2a156b41p-2, 0x1.f27f45a8p-45},
    {0x1.3ap-1, 0x1.f4aa7ee032p-2, -0x1.b4c86a4p-44},
    {0x1.38p-1, 0x1.fb358af7a5p-2, -0x1.def40b88p-44},
    {0x1.38p-1, 0x1.fb358af7a5p-2, -0x1.def40b88p-44},
    {0x1.36p-1, 0x1.00e5ae5b208p-1, -0x1.53ba3b18p-47},
    {0x1.34p-1, 0x1.04360be76p-1, 0x1.d677403p-44},
    {0x1.32p-1, 0x1.078bf0533c8p-1, -0x1.4bf6edfp-44},
    {0x1.32p-1, 0x1.078bf0533c8p-1, -0x1.4bf6edfp-44},
    {0x1.3p-1, 0x1.0ae76e2d058p-1, -0x1.82de51ep-44},
    {0x1.2ep-1, 0x1.0e4898611dp-1, -0x1.8f599fep-44},
    {0x1.2ep-1, 0x1.0e4898611dp-1, -0x1.8f599fep-44},
    {0x1.2cp-1, 0x1.11af823c758p-1, 0x1.53cdc22p-44},
    {0x1.2ap-1, 0x1.151c3f6f298p-1, -0x1.edd97a28p-45},
    {0x1.2ap-1, 0x1.151c3f6f298p-1, -0x1.edd97a28p-45},
    {0x1.28p-1, 0x1.188ee40f24p-1, -0x1.accec42p-44},
    {0x1.26p-1, 0x1.1c07849ae6p-1, 0x1.cacdeed8p-51},
    {0x1.26p-1, 0x1.1c07849ae6p-1, 0x1.cacdeed8p-51},
    {0x1.24p-1, 0x1.1f8635fc618p-1, -0x1.a7242cap-45},
    {0x1.22p-1, 0x1.230b0d8becp-1, -0x1.b40fe648p-44},
    {0x1.22p-1, 0x1.230b0d8becp-1, -0x1.b40fe648p-44},
    {0x1.2p-1, 0x1.269621134d8p-1, 0x1.c93c1df8p-44},
    {0x1.1ep-1, 0x1.2a2786d0ecp-1, 0x1.06d2be78p-45},
    {0x1.1ep-1, 0x1.2a2786d0ecp-1, 0x1.06d2be78p-45},
    {0x1.1cp-1, 0x1.2dbf557b0ep-1, -0x1.7a6e5078p-46},
    {0x1.1cp-1, 0x1.2dbf557b0ep-1, -0x1.7a6e5078p-46},
    {0x1.1ap-1, 0x1.315da443408p-1, -0x1.74e93c58p-45},
    {0x1.18p-1, 0x1.35028ad9d9p-1, -0x1.bd1f01a8p-44},
    {0x1.18p-1, 0x1.35028ad9d9p-1, -0x1.bd1f01a8p-44},
    {0x1.16p-1, 0x1.38ae2171978p-1, -0x1.18b7abb8p-45},
    {0x1.16p-1, 0x1.38ae2171978p-1, -0x1.18b7abb8p-45},
    {0x1.14p-1, 0x1.3c6080c36cp-1, -0x1.2b7367dp-47},
    {0x1.12p-1, 0x1.4019c2125c8p-1, 0x1.498c3678p-44},
    {0x1.12p-1, 0x1.4019c2125c8p-1, 0x1.498c3678p-44},
    {0x1.1p-1, 0x1.43d9ff2f92p-1, 0x1.e267b0b8p-44},
    {0x1.1p-1, 0x1.43d9ff2f92p-1, 0x1.e267b0b8p-44},
    {0x1.0ep-1, 0x1.47a1527e8ap-1, 0x1.69a4a838p-44},
    {0x1.0ep-1, 0x1.47a1527e8ap-1, 0x1.69a4a838p-44},
    {0x1.0cp-1, 0x1.4b6fd6f971p-1, -0x1.f0477508p-44},
    {0x1.0ap-1, 0x1.4f45a835a5p-1, -0x1.e6c516d8p-45},
    {0x1.0ap-1, 0x1.4f45a835a5p-1, -0x1.e6c516d8p-45},
    {0x1.08p-1, 0x1.5322e268678p-1, 0x1.5ccc45dp-47},
    {0x1.08p-1, 0x1.5322e268678p-1, 0x1.5ccc45dp-47},
    {0x1.06p-1, 0x1.5707a26bb9p-1, -0x1.cccfe8p-44},
    {0x1.06p-1, 0x1.5707a26bb9p-1, -0x1.cccfe8p-44},
    {0x1.04p-1, 0x1.5af405c3648p-1, 0x1.dfa63acp-45},
    {0x1.04p-1, 0x1.5af405c3648p-1, 0x1.dfa63acp-45},
    {0x1.02p-1, 0x1.5ee82aa2418p-1, 0x1.202380dp-45},
    {0x1.02p-1, 0x1.5ee82aa2418p-1, 0x1.202380dp-45},
    {0x1p-1, 0x1.62e42fefa38p-1, 0x1.ef35794p-45},
};

/* 2^(j/64) to 2^-83. */
const tt_split tt_powers[64] = {
    {1, 0},
    {0x1.02c9a3e778061p+0, -0x1.19083538p-56},
    {0x1.059b0d3158574p+0, 0x1.d73e2a48p-55},
    {0x1.0874518759bc8p+0, 0x1.186be4b8p-57},
    {0x1.0b5586cf9890fp+0, 0x1.8a62e4bp-54},
    {0x1.0e3ec32d3d1a2p+0, 0x1.03a1728p-59},
    {0x1.11301d0125b51p+0, -0x1.6c510398p-54},
    {0x1.1429aaea92dep+0, -0x1.32fbf9bp-54},
    {0x1.172b83c7d517bp+0, -0x1.19041bap-55},
    {0x1.1a35beb6fcb75p+0, 0x1.e5b4c7b8p-55},
    {0x1.1d4873168b9aap+0, 0x1.e016e008p-54},
    {0x1.2063b88628cd6p+0, 0x1.dc775818p-55},
    {0x1.2387a6e756238p+0, 0x1.9b07eb7p-54},
    {0x1.26b4565e27cddp+0, 0x1.2bd33998p-55},
    {0x1.29e9df51fdee1p+0, 0x1.612e8af8p-55},
    {0x1.2d285a6e4030bp+0, 0x1.0024755p-54},
    {0x1.306fe0a31b715p+0, 0x1.6f46ad2p-55},
    {0x1.33c08b26416ffp+0, 0x1.3272184p-54},
    {0x1.371a7373aa9cbp+0, -0x1.63aeabf8p-54},
    {0x1.3a7db34e59ff7p+0, -0x1.5e436d68p-56},
    {0x1.3dea64c123422p+0, 0x1.ada0912p-55},
    {0x1.4160a21f72e2ap+0, -0x1.ef3691cp-58},
    {0x1.44e086061892dp+0, 0x1.89b7a05p-59},
    {0x1.486a2b5c13cdp+0, 0x1.3c1a3b68p-56},
    {0x1.4bfdad5362a27p+0, 0x1.d4397bp-56},
    {0x1.4f9b2769d2ca7p+0, -0x1.4b309d28p-54},
    {0x1.5342b569d4f82p+0, -0x1.07abe1d8p-55},
    {0x1.56f4736b527dap+0, 0x1.9bb2c01p-54},
    {0x1.5ab07dd485429p+0, 0x1.6324c058p-54},
    {0x1.5e76f15ad2148p+0, 0x1.ba6f9308p-54},
    {0x1.6247eb03a5585p+0, -0x1.383c17e8p-54},
    {0x1.6623882552225p+0, -0x1.bb609878p-54},
    {0x1.6a09e667f3bcdp+0, -0x1.bdd34138p-54},
    {0x1.6dfb23c651a2fp+0, -0x1.bbe3a68p-57},
    {0x1.71f75e8ec5f74p+0, -0x1.16e47868p-55},
    {0x1.75feb564267c9p+0, -0x1.0245957p-54},
    {0x1.7a11473eb0187p+0, -0x1.41577eep-55},
    {0x1.7e2f336cf4e62p+0, 0x1.05d02bap-56},
    {0x1.82589994cce13p+0, -0x1.d4c1dd4p-54},
    {0x1.868d99b4492edp+0, -0x1.fc6f89cp-54},
    {0x1.8ace5422aa0dbp+0, 0x1.6e9f1568p-54},
    {0x1.8f1ae99157736p+0, 0x1.5cc13a3p-55},
    {0x1.93737b0cdc5e5p+0, -0x1.75fc7818p-57},
    {0x1.97d829fde4e5p+0, -0x1.d185b7cp-54},
    {0x1.9c49182a3f09p+0, 0x1.c7c46b08p-56},
    {0x1.a0c667b5de565p+0, -0x1.359495dp-54},
    {0x1.a5503b23e255dp+0, -0x1.d2f6edb8p-54},
    {0x1.a9e6b5579fdbfp+0, 0x1.0fac90fp-54},
    {0x1.ae89f995ad3adp+0, 0x1.7a1cd348p-54},
    {0x1.b33a2b84f15fbp+0, -0x1.2805e308p-57},
    {0x1.b7f76f2fb5e47p+0, -0x1.5584f7e8p-56},
    {0x1.bcc1e904bc1d2p+0, 0x1.23dd07ap-55},
    {0x1.c199bdd85529cp+0, 0x1.11065898p-55},
    {0x1.c67f12e57d14bp+0, 0x1.2884dff8p-54},
    {0x1.cb720dcef9069p+0, 0x1.503cbd2p-56},
    {0x1.d072d4a07897cp+0, -0x1.cbc37438p-54},
    {0x1.d5818dcfba487p+0, 0x1.2ed02d78p-55},
    {0x1.da9e603db3285p+0, 0x1.c2300698p-54},
    {0x1.dfc97337b9b5fp+0, -0x1.1a5cd4fp-54},
    {0x1.e502ee78b3ff6p+0, 0x1.39e89808p-55},
    {0x1.ea4afa2a490dap+0, -0x1.e9c23178p-54},
    {0x1.efa1bee615a27p+0, 0x1.dc7f4868p-54},
    {0x1.f50765b6e454p+0, 0x1.9d3e12ep-54},
    {0x1.fa7c1819e90d8p+0, 0x1.74853f38p-55},
};

/* sin(j pi/64), as 26 bits and the rest, to 2^-67. */
const tt_split tt_sines[33] = {
    {0, 0},
    {0x1.91f65fp-5, 0x1.0dd813e6eep-33},
    {0x1.917a6cp-4, -0x1.eb25ea0f14p-31},
    {0x1.2c8107p-3, -0x1.719ec5ddap-31},
    {0x1.8f8b84p-3, -0x1.cb2cfaa4dap-30},
    {0x1.f19f978p-3, 0x1.90af8d57a4p-30},
    {0x1.294063p-2, -0x1.2a60fa574ap-30},
    {0x1.58f9a78p-2, -0x1.2a701180f8p-29},
    {0x1.87de2a8p-2, -0x1.51569d2e5ap-30},
    {0x1.b5d1008p-2, 0x1.e15cc02b66p-30},
    {0x1.e2b5d38p-2, 0x1.bd8ec78362p-36},
    {0x1.0738798p-1, 0x1.22ffed9698p-29},
    {0x1.1c73b38p-1, 0x1.ae68c86c98p-29},
    {0x1.30ff8p-1, -0x1.8f47e58f7ep-28},
    {0x1.44cf328p-1, -0x1.7b7114f3fcp-28},
    {0x1.57d6938p-1, -0x1.b989b02eaep-28},
    {0x1.6a09e68p-1, -0x1.80c4336f74p-29},
    {0x1.7b5df2p-1, 0x1.3557d76f0ap-28},
    {0x1.8bc8068p-1, 0x1.8a8ba05a74p-28},
    {0x1.9b3e048p-1, -0x1.8f17e98772p-34},
    {0x1.a9b6628p-1, 0x1.0ea1a3033ep-29},
    {0x1.b728348p-1, -0x1.7348e1378ep-28},
    {0x1.c38b2fp-1, 0x1.80bdb0d23ep-29},
    {0x1.ced7af8p-1, -0x1.e19c46879ep-28},
    {0x1.d906bdp-1, -0x1.9ae573aeap-30},
    {0x1.e212108p-1, -0x1.84bc8da02ap-28},
    {0x1.e9f4158p-1, -0x1.39d225a27ep-29},
    {0x1.f0a7ef8p-1, 0x1.c9186b952cp-28},
    {0x1.f6297dp-1, -0x1.1469faa77ap-34},
    {0x1.fa7558p-1, -0x1.eeb5d2bd06p-30},
    {0x1.fd88dap-1, 0x1.e89292cf04p-28},
    {0x1.ff621ep-1, 0x1.bcb6bef1d4p-28},
    {1, 0x1.011c2eaabep-196},
};

/* ---- Logarithms ------------------------------------------------------------------------------ */

double tt_log(double x) {
    if (!(x > 0)) return x == 0 ? -INFINITY : NAN;
    if (x == INFINITY) return x;
    if (x >= DBL_MIN) return log_lanes(x);
    const pair sum = log_parts(x * 0x1p54, 54);
    return sum.hi + sum.lo;
}

/* Near 0 the series itself; 0 keeps its sign. Elsewhere 1 + x = hi + lo exactly, and ln(hi + lo) =
 * ln hi + d - d^2/2 + ..., d = lo/hi, |d| <= u: its square and its rounding are u^2, which next to
 * 2^-8 is nothing. Sum: 0.51 ulp. */
double tt_log1p(double x) {
    if (x >= -1.0 / 256 && x <= 1.0 / 128) return x + log_series(x);
    if (!(x > -1)) return x == -1 ? -INFINITY : NAN;
    if (x == INFINITY) return x;
    const pair one_more = sum_any(1, x);
    pair sum = log_parts(one_more.hi, 0);
    sum.lo += one_more.lo / one_more.hi;
    return sum.hi + sum.lo;
}

/* ---- Exponentials ---------------------------------------------------------------------------- */

/* (hi + lo) 2^e where that may be subnormal, hi + lo in [0.99, 2), e in [-1077, -1022]. One
 * rounding, not two: 1 + hi + lo, for a number below 1, is rounded to 2^-52, which becomes 2^-1074,
 * the last place of a subnormal number. */
static double scaled_down(double hi, double lo, uint64_t e) {
    const double by = power_of_two(e + 1022);
    hi *= by;
    lo *= by;
    double y = hi + lo;
    if (y < 1) {
        const pair sum = sum_ordered(1, hi);
        y = (sum.hi + (sum.lo + lo)) - 1;
    }
    return y * 0x1p-1022;
}

/* Near either end of the range 2^e, or the result, is no normal number. */
double tt_exp(double x) {
    if (!(x > -746)) return x < 0 ? 0 : x; /* 0 or NaN */
    if (x > 710) return INFINITY;
    if (x >= -708 && x <= 708) return exp_lanes(x);
    const exponential a = exp_parts(x);
    const double lo = a.power.lo + a.power.hi * a.p;
    return x < 0 ? scaled_down(a.power.hi, lo, a.e) : (a.power.hi + lo) * power_of_two(a.e - 1) * 2;
}

/* e^x - 1 for |x| < 1/8: x + x^2/2 is exact as a sum of three, by x = front + back, where front is
 * a multiple of 2^-27 and its square has at most 48 bits; x^3/6 is below 2^-8.5 of x and errs by 4
 * u of it; the term left out is x^12/12!, 2^-61 of x. Sum: 0.52 ulp. */
static double expm1_near_0(double x) {
    const double scale = ROUND * 0x1p-27, front = (x + scale) - scale, back = x - front;
    const double x2 = x * x;
    const double series =
        (1.0 / 6 + x * (1.0 / 24)) +
        x2 * ((1.0 / 120 + x * (1.0 / 720)) +
              x2 * ((1.0 / 5040 + x * (1.0 / 40320)) +
                    x2 * ((1.0 / 362880 + x * (1.0 / 3628800)) + x2 * (1.0 / 39916800))));
    const pair sum = sum_ordered(x, 0.5 * front * front);
    return sum.hi + (sum.lo + (0.5 * back * (x + front) + x * x2 * series));
}

/* Beyond 1/8 the error of exp in front of a result that is smaller by 1: 2^-59 next to an ulp of
 * 2^-56 at x = -1/8 and less elsewhere. Sum: 0.65 ulp. From 45 up, 1 is below 2^-11 ulp; below
 * -37.5 e^x is below half an ulp of 1. */
double tt_expm1(double x) {
    if (!(x > -37.5)) return x < 0 ? -1 : x; /* -1 or NaN */
    if (x > 45) return tt_exp(x);
    if (fabs(x) < 0.125) return x == 0 ? x : expm1_near_0(x); /* 0 keeps its sign */
    const exponential a = exp_parts(x);
    const double by = power_of_two(a.e);
    const pair sum = sum_any(by * a.power.hi, -1);
    return sum.hi + (sum.lo + by * (a.power.lo + a.power.hi * a.p));
}

/* ---- Sine and cosine ------------------------------------------------------------------------- */

/* The double nearest to 2 pi, which is below it. */
#define TWO_PI 0x1.921fb54442d18p+2

double tt_sin(double x) {
    double sine = NAN, cosine;
    if (x == 0) return x; /* 0 keeps its sign */
    if (x >= 0 && x <= TWO_PI) sin_cos_lanes(x, &sine, &cosine);
    return sine;
}

double tt_cos(double x) {
    double sine, cosine = NAN;
    if (x >= 0 && x <= TWO_PI) sin_cos_lanes(x, &sine, &cosine);
    return cosine;
}
