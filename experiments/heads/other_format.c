#include "heads/other_format.h"

#include <stdbool.h>
#include <string.h>

/* Behind the name stands Python. Tensors are widened, as numpy has no bfloat16. */
#define SAVE "; to save as .npy: import numpy as np"
#define TORCH                                                                                      \
    SAVE ", torch; x = torch.load('FILE', 'cpu'); np.save('NAME.npy', x.detach().double()."        \
         "numpy()) (if it is a dict: x['NAME'] for x)"

static const char npz[] =
    "a .npz archive of numpy.savez" SAVE "; z = np.load('FILE'); [np.save(k, z[k]) for k in z]",
                  torch_zip[] = "a file of torch.save" TORCH,
                  torch_old[] = "a file of torch.save as before PyTorch 1.6" TORCH,
                  zip[] = "a zip archive; expected one array from numpy.save",
                  pickle[] = "a Python pickle" SAVE
                             ", pickle; np.save('NAME.npy', pickle.load(open('FILE', 'rb')))",
                  safetensors[] = "a safetensors file" SAVE
                                  "; from safetensors.torch import load_file; [np.save(k, "
                                  "x.double().numpy()) for k, x in load_file('FILE').items()]",
                  gguf[] = "a GGUF file" SAVE
                           ", gguf.quants; [np.save(x.name, gguf.quants.dequantize(x.data, "
                           "x.tensor_type)) for x in gguf.GGUFReader('FILE').tensors]",
                  hdf5[] = "an HDF5 file" SAVE
                           ", h5py; np.save('NAME.npy', h5py.File('FILE')['NAME'][()])",
                  mat_hdf5[] = "a MATLAB file (.mat, version 7.3)" SAVE
                               ", h5py; np.save('NAME.npy', h5py.File('FILE')['NAME'][()].T)",
                  mat[] = "a MATLAB file (.mat, version 5)" SAVE
                          ", scipy.io; np.save('NAME.npy', scipy.io.loadmat('FILE')['NAME'])";

/* The first that fits counts: an old torch.save is a pickle too. */
static const struct {
    size_t at, size;
    const char *bytes, *what;
} KNOWN[] = {
    {0, 15, "\x80\2\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19.", torch_old},
    {0, 4, "GGUF", gguf},
    {0, 19, "MATLAB 7.3 MAT-file", mat_hdf5},
    {0, 19, "MATLAB 5.0 MAT-file", mat},
    {0, 8, "\x89HDF\r\n\x1a\n", hdf5},
    {512, 8, "\x89HDF\r\n\x1a\n", hdf5}, /* behind a block of the user's */
    {0, 6, "cnumpy", pickle},            /* protocols 0 and 1 are text */
};

/* By the name of the first file in it: numpy's are all .npy, torch begins with data.pkl. */
static const char *zip_kind(const unsigned char *bytes, size_t length) {
    enum { NAME_SIZE = 26, NAME = 30 };
    if (length < NAME) return zip;
    const size_t size = bytes[NAME_SIZE] | (size_t)bytes[NAME_SIZE + 1] << 8;
    if (size > length - NAME) return zip;
    const char *end = (const char *)bytes + NAME + size;
    if (size >= 4 && memcmp(end - 4, ".npy", 4) == 0) return npz;
    return size >= 9 && memcmp(end - 9, "/data.pkl", 9) == 0 ? torch_zip : zip;
}

/* A length in 8 little-endian bytes, then as much JSON. */
static bool is_safetensors(const unsigned char *bytes, size_t length) {
    return length >= 10 && bytes[5] == 0 && bytes[6] == 0 && bytes[7] == 0 && bytes[8] == '{' &&
           strchr("\" \n}", bytes[9]) && bytes[9];
}

const char *other_format(const unsigned char *bytes, size_t length) {
    for (size_t i = 0; i < sizeof KNOWN / sizeof *KNOWN; i++)
        if (length >= KNOWN[i].at + KNOWN[i].size &&
            memcmp(bytes + KNOWN[i].at, KNOWN[i].bytes, KNOWN[i].size) == 0)
            return KNOWN[i].what;
    if (length >= 4 && (!memcmp(bytes, "PK\3\4", 4) || !memcmp(bytes, "PK\5\6", 4)))
        return zip_kind(bytes, length);
    if (length >= 2 && bytes[0] == 0x80 && bytes[1] >= 2 && bytes[1] <= 5) return pickle;
    return is_safetensors(bytes, length) ? safetensors : NULL;
}
