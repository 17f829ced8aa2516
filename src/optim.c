#include "tt/optim.h"

void tt_sgd_step(tt_tensor value, tt_tensor grad, double lr) {
    tt_size count = tt_tensor_count(value);
    for (tt_size i = 0; i < count; i++) value.data[i] -= lr * grad.data[i];
}
