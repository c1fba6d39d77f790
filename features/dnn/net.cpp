//go:build opencv

#include "net.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <opencv2/core/cuda.hpp>
#include <opencv2/core/utility.hpp>
#include <opencv2/core/version.hpp>
#include <opencv2/dnn.hpp>

struct segd_net {
    cv::dnn::Net net;
};

struct segd_outputs {
    std::vector<cv::Mat> maps;
};

namespace {

// guard runs f and turns an exception into a malloc'ed message.
template <typename F> char *guard(F f) {
    try {
        f();
        return nullptr;
    } catch (const std::exception &e) {
        return strdup(e.what());
    } catch (...) {
        return strdup("an exception of unknown type");
    }
}

} // namespace

const char *segd_opencv_version(void) { return CV_VERSION; }

void segd_set_threads(int n) { cv::setNumThreads(n); }

char *segd_build_information(void) { return strdup(cv::getBuildInformation().c_str()); }

int segd_cuda_devices(void) {
    try {
        return cv::cuda::getCudaEnabledDeviceCount();
    } catch (...) {
        return -1;
    }
}

segd_outputs *segd_outputs_new(void) { return new segd_outputs; }

void segd_outputs_free(segd_outputs *outputs) { delete outputs; }

void segd_net_free(segd_net *net) { delete net; }

char *segd_net_read(const char *prototxt, size_t prototxt_size, const char *data, size_t size, segd_net **made) {
    return guard([&] {
        cv::dnn::Net net = prototxt ? cv::dnn::readNetFromCaffe(prototxt, prototxt_size, data, size) : cv::dnn::readNetFromONNX(data, size);
        if (net.empty()) {
            throw std::runtime_error("no layers are in it");
        }
        *made = new segd_net{net};
    });
}

char *segd_net_use_cuda(segd_net *net, int fp16) {
    return guard([&] {
        net->net.setPreferableBackend(cv::dnn::DNN_BACKEND_CUDA);
        net->net.setPreferableTarget(fp16 ? cv::dnn::DNN_TARGET_CUDA_FP16 : cv::dnn::DNN_TARGET_CUDA);
    });
}

char *segd_net_describe(segd_net *p, int channels, int height, int width, char **text) {
    return guard([&] {
        auto &net = p->net;
        std::vector<int> ids;
        std::vector<std::vector<cv::dnn::MatShape>> in, out;
        net.getLayersShapes(cv::dnn::MatShape{1, channels, height, width}, ids, in, out);
        const std::vector<int> ends = net.getUnconnectedOutLayers();
        std::ostringstream s;
        for (size_t i = 0; i < ids.size(); i++) {
            if (ids[i] == 0) { // the input itself
                continue;
            }
            auto layer = net.getLayer(ids[i]);
            s << layer->name << '\x1f' << layer->type << '\x1f';
            if (!out[i].empty()) {
                for (size_t d = 0; d < out[i][0].size(); d++) {
                    s << (d ? "," : "") << out[i][0][d];
                }
            }
            s << '\x1f' << (std::find(ends.begin(), ends.end(), ids[i]) != ends.end()) << '\n';
        }
        *text = strdup(s.str().c_str());
    });
}

char *segd_net_forward(segd_net *p, const float *input, const int shape[4], const char **names, int n, segd_outputs *outputs) {
    return guard([&] {
        auto &net = p->net;
        net.setInput(cv::Mat(4, shape, CV_32F, const_cast<float *>(input)));
        outputs->maps.clear();
        if (n == 0) {
            net.forward(outputs->maps, net.getUnconnectedOutLayersNames());
            outputs->maps.clear();
            return;
        }
        net.forward(outputs->maps, std::vector<cv::String>(names, names + n));
    });
}

char *segd_outputs_get(const segd_outputs *outputs, int i, int image, int images, const float **data, int dims[3]) {
    return guard([&] {
        const cv::Mat &m = outputs->maps.at(i);
        const bool fits = (m.dims == 3 || m.dims == 4) && m.size[0] == images && image < images && m.type() == CV_32F && m.isContinuous() && m.total() > 0;
        *data = fits ? m.ptr<float>(image) : nullptr;
        for (int d = 0; d < 3; d++) {
            dims[d] = fits && d + 1 < m.dims ? m.size[d + 1] : 0;
        }
    });
}
