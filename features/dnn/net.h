// What gocv 0.31 lacks or gets wrong on cv::dnn::Net: thread count, layer shapes,
// layer names (its strings are freed before they are read), several outputs at once
// (it leaks their names and its array of results), and C++ exceptions, which it
// lets through to abort the process. Every call here catches them.
#ifndef SEGD_NET_H
#define SEGD_NET_H

#ifdef __cplusplus
extern "C" {
#endif

// Results of one forward pass, reused by the next.
typedef struct segd_outputs segd_outputs;

void segd_set_threads(int n);

// segd_build_information is OpenCV's own account of how it was built. The caller
// frees it.
char *segd_build_information(void);

// segd_cuda_devices counts the CUDA devices OpenCV sees: 0 without CUDA in it, -1 if
// the driver is missing or too old.
int segd_cuda_devices(void);

segd_outputs *segd_outputs_new(void);
void segd_outputs_free(segd_outputs *outputs);

// The functions below return NULL, or a message that the caller frees.

// segd_net_describe lists the layers for a 1×channels×height×width input, in
// execution order, one a line: name, type, dimensions (comma separated), 1 if nothing
// reads its output; separated by 0x1f. The caller frees *text. Pooling layers of
// models with a dynamic size know their shape only after a forward pass of that size.
char *segd_net_describe(void *net, int channels, int height, int width, char **text);

// segd_net_forward runs net on the first images of blob (a cv::Mat* of images×channels×height×width)
// and keeps the outputs of the named layers; with n = 0 it runs all of net and keeps nothing.
char *segd_net_forward(void *net, void *blob, int images, const char **names, int n, segd_outputs *outputs);

// segd_outputs_get tells where output i is of an image among so many, until the next forward pass,
// and its dimensions: channels, height and width of images×channels×height×width; rows, columns and 0
// of images×rows×columns. *data is NULL if it is neither or not of float32.
char *segd_outputs_get(const segd_outputs *outputs, int i, int image, int images, const float **data, int dims[3]);

#ifdef __cplusplus
}
#endif
#endif
