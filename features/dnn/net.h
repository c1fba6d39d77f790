// What segd needs of OpenCV: cv::dnn::Net. What computes or reads what comes from outside
// catches C++ exceptions, which would abort the process.
#ifndef SEGD_NET_H
#define SEGD_NET_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// A network.
typedef struct segd_net segd_net;

// Results of one forward pass, reused by the next.
typedef struct segd_outputs segd_outputs;

const char *segd_opencv_version(void);

void segd_set_threads(int n);

// segd_build_information is OpenCV's own account of how it was built. The caller
// frees it.
char *segd_build_information(void);

// segd_cuda_devices counts the CUDA devices OpenCV sees: 0 without CUDA in it, -1 if
// the driver is missing or too old.
int segd_cuda_devices(void);

segd_outputs *segd_outputs_new(void);
void segd_outputs_free(segd_outputs *outputs);

void segd_net_free(segd_net *net);

// The functions below return NULL, or a message that the caller frees.

// segd_net_read loads a model: Caffe with its prototxt, ONNX where prototxt is NULL.
char *segd_net_read(const char *prototxt, size_t prototxt_size, const char *data, size_t size, segd_net **net);

// segd_net_use_cuda has net computed by a CUDA card, in half precision or in full.
char *segd_net_use_cuda(segd_net *net, int fp16);

// segd_net_describe lists the layers for a 1×channels×height×width input, in
// execution order, one a line: name, type, dimensions (comma separated), 1 if nothing
// reads its output; separated by 0x1f. The caller frees *text. Pooling layers of
// models with a dynamic size know their shape only after a forward pass of that size.
char *segd_net_describe(segd_net *net, int channels, int height, int width, char **text);

// segd_net_forward runs net on images×channels×height×width numbers (shape, input) and keeps the outputs of the
// named layers; with n = 0 it runs all of net and keeps nothing. OpenCV copies the input.
char *segd_net_forward(segd_net *net, const float *input, const int shape[4], const char **names, int n, segd_outputs *outputs);

// segd_outputs_get tells where output i is of an image among so many, until the next forward pass,
// and its dimensions: channels, height and width of images×channels×height×width; rows, columns and 0
// of images×rows×columns. *data is NULL if it is neither or not of float32.
char *segd_outputs_get(const segd_outputs *outputs, int i, int image, int images, const float **data, int dims[3]);

#ifdef __cplusplus
}
#endif
#endif
