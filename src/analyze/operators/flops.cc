#include "src/analyze/operators/flops.h"

#include <simdjson.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/analyze/table.h"

namespace crosscut::analyze {
namespace {

using Shape = std::vector<int64_t>;

// Calls the products that it is made of.
constexpr std::string_view kAttentionByParts = "_scaled_dot_product_attention_math";

// Of a shape; of a stride, padding or dilation. Products of the two fit into 64 bits.
constexpr int64_t kMostSize = int64_t{1} << 46, kMostReach = 1 << 15;

// `most`: greater ones are none.
std::optional<Shape> Numbers(simdjson::dom::element element, int64_t most) {
  simdjson::dom::array array;
  if (element.get_array().get(array)) return std::nullopt;
  Shape shape;
  for (const simdjson::dom::element each : array) {
    int64_t number;
    if (each.get_int64().get(number) || number < 0 || number > most) return std::nullopt;
    shape.push_back(number);
  }
  return shape;
}

// The shapes and values of a call. Empty where an input has none.
class Call {
 public:
  Call(std::string_view dims, std::string_view concrete) {
    simdjson::dom::array array;
    if (!parser_.parse(dims).get_array().get(array)) {
      for (const simdjson::dom::element each : array) {
        shapes_.push_back(Numbers(each, kMostSize).value_or(Shape()));
      }
    }
    if (parser_.parse(concrete).get_array().get(array)) return;
    for (const simdjson::dom::element each : array) {
      std::string_view text;
      if (each.get_string().get(text)) text = {};
      values_.emplace_back(text);
    }
  }

  const Shape& shape(size_t i) const {
    static const Shape kNone;
    return i < shapes_.size() ? shapes_[i] : kNone;
  }
  // The value of a scalar, as PyTorch writes it.
  std::string_view text(size_t i) const {
    return i < values_.size() ? std::string_view(values_[i]) : std::string_view();
  }
  // A list of whole numbers ("[1, 1]") or one ("1"); `size` times the same where it is one.
  std::optional<Shape> list(size_t i, size_t size) {
    simdjson::dom::element element;
    if (i >= values_.size() || parser_.parse(values_[i]).get(element)) return std::nullopt;
    int64_t number;
    std::optional<Shape> found = Numbers(element, kMostReach);
    if (!element.get_int64().get(number) && std::abs(number) <= kMostReach) found = Shape{number};
    if (!found || found->empty()) return std::nullopt;
    if (found->size() == 1) found->resize(size, found->front());
    return found->size() == size ? found : std::nullopt;
  }

 private:
  simdjson::dom::parser parser_;
  std::vector<Shape> shapes_;
  std::vector<std::string> values_;
};

// Of sizes as large as anyone's: a product that does not fit is not known.
int64_t Product(std::initializer_list<int64_t> factors) {
  int64_t product = 1;
  for (const int64_t factor : factors) {
    if (__builtin_mul_overflow(product, factor, &product)) return kMissing;
  }
  return product;
}

int64_t Elements(const Shape& shape, size_t from = 0) {
  int64_t product = 1;
  for (size_t i = from; i < shape.size(); ++i) {
    if (__builtin_mul_overflow(product, shape[i], &product)) return kMissing;
  }
  return product;
}

int64_t MatrixProduct(const Shape& a, const Shape& b) {
  if (a.size() < 2 || a.size() != b.size() || a.size() > 3) return kMissing;
  const size_t last = a.size() - 1;
  if (a[last] != b[last - 1]) return kMissing;
  return Product({2, a.size() == 3 ? a[0] : 1, a[last - 1], a[last], b[last]});
}

// Every place of the smaller of input and output meets every weight once: `at` is its shape.
int64_t ConvolutionProduct(const Shape& at, const Shape& weight) {
  if (weight.size() < 3 || at.size() != weight.size()) return kMissing;
  const int64_t places = Elements(at, 2), weights = Elements(weight);
  if (places == kMissing || weights == kMissing) return kMissing;
  return Product({2, at[0], places, weights});
}

// (input, weight, bias, stride, padding, dilation, transposed, output padding, groups)
int64_t ConvolutionFlops(Call& call) {
  const Shape &input = call.shape(0), &weight = call.shape(1);
  if (weight.size() < 3 || input.size() != weight.size()) return kMissing;
  if (call.text(6) == "True") return ConvolutionProduct(input, weight);
  const size_t places = weight.size() - 2;
  const auto stride = call.list(3, places), padding = call.list(4, places),
             dilation = call.list(5, places);
  if (call.text(6) != "False" || !stride || !padding || !dilation) return kMissing;
  Shape output = {input[0], weight[0]};
  for (size_t i = 0; i < places; ++i) {
    const int64_t reach = (*dilation)[i] * (weight[i + 2] - 1) + 1;
    const int64_t room = input[i + 2] + 2 * (*padding)[i] - reach;
    if ((*stride)[i] <= 0 || room < 0) return kMissing;
    output.push_back(room / (*stride)[i] + 1);
  }
  return ConvolutionProduct(output, weight);
}

// (output's gradient, input, weight, bias' sizes, stride, padding, dilation, transposed, output
// padding, groups, which gradients are made: of input, of weight, of bias)
int64_t ConvolutionBackwardFlops(Call& call) {
  const bool transposed = call.text(7) == "True";
  if (!transposed && call.text(7) != "False") return kMissing;
  const std::string_view made = call.text(10);
  const bool input = made.starts_with("[True"), weight = made.find(", True, ") != made.npos;
  if (!made.starts_with("[")) return kMissing;
  const int64_t one = ConvolutionProduct(call.shape(transposed ? 1 : 0), call.shape(2));
  return one == kMissing ? kMissing : Product({one, int64_t{input} + int64_t{weight}});
}

// `products`: how many are as wide as queries and keys, and how many as wide as values.
int64_t AttentionFlops(const Call& call, size_t first, std::pair<int64_t, int64_t> products) {
  const Shape &query = call.shape(first), &key = call.shape(first + 1),
              &value = call.shape(first + 2);
  if (query.size() != 4 || key.size() != 4 || value.size() != 4) return kMissing;
  const int64_t scores = Product({2, query[0], query[1], query[2], key[2]});
  const int64_t keys = Product({products.first, query[3]});
  const int64_t values = Product({products.second, value[3]});
  int64_t width;
  if (scores == kMissing || keys == kMissing || values == kMissing ||
      __builtin_add_overflow(keys, values, &width)) {
    return kMissing;
  }
  return Product({scores, width});
}

}  // namespace

bool IsConvolution(std::string_view name) {
  if (!name.starts_with("aten::")) return false;
  name.remove_prefix(6);
  for (const std::string_view start : {"conv_transpose", "conv"}) {
    if (!name.starts_with(start)) continue;
    const std::string_view places = name.substr(start.size());
    if (places == "1d" || places == "2d" || places == "3d") return true;
  }
  return name == "_convolution_mode" || name == "convolution" || name == "_convolution";
}

bool IsElementwise(std::string_view name) { return name == "aten::add" || name == "aten::mul"; }

int64_t FlopsOf(std::string_view name, std::string_view dims, std::string_view concrete) {
  if (!name.starts_with("aten::") || dims.empty()) return kMissing;
  Call call(dims, concrete);
  if (IsElementwise(name)) return call.shape(0).empty() ? kMissing : Elements(call.shape(0));
  name.remove_prefix(6);
  if (name == "mm" || name == "bmm" || name == "_scaled_mm") {
    return MatrixProduct(call.shape(0), call.shape(1));
  }
  for (const std::string_view sum : {"addmm", "baddbmm", "addmm_", "baddbmm_"}) {
    if (name == sum) return MatrixProduct(call.shape(1), call.shape(2));
  }
  if (name == "convolution" || name == "_convolution" || name == "convolution_overrideable") {
    return ConvolutionFlops(call);
  }
  if (name == "convolution_backward") return ConvolutionBackwardFlops(call);
  if (!name.starts_with("_scaled_dot_product_") || name.starts_with(kAttentionByParts)) {
    return kMissing;
  }
  return name.ends_with("_backward") ? AttentionFlops(call, 1, {3, 2})
                                     : AttentionFlops(call, 0, {1, 1});
}

}  // namespace crosscut::analyze
