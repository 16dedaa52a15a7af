#include "src/report/testing/xss_corpus.h"

#include <iterator>
#include <string_view>

namespace crosscut::report {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::string_view kCorpus[] = {
    R"x(<script>window.pwned=1</script>)x",
    R"x(</script><script>window.pwned=1</script>)x",
    R"x(<!--<script>window.pwned=1</script>-->)x",
    R"x(<!--)x",
    R"x(-->)x",
    R"x(--!><img src=x onerror=window.pwned=1>)x",
    R"x(]]><img src=x onerror=window.pwned=1>)x",
    R"x(<img src=x onerror=window.pwned=1>)x",
    R"x(<img src="http://127.0.0.1:9/x.png">)x",
    R"x(<svg onload=window.pwned=1>)x",
    R"x(<svg><script>window.pwned=1</script></svg>)x",
    R"x(<svg><animate onbegin=window.pwned=1 attributeName=x dur=1s>)x",
    R"x(<body onload=window.pwned=1>)x",
    R"x(<iframe src="javascript:window.pwned=1"></iframe>)x",
    R"x(<iframe srcdoc="<script>parent.pwned=1</script>">)x",
    R"x(<object data="javascript:window.pwned=1">)x",
    R"x(<embed src="javascript:window.pwned=1">)x",
    R"x(<a href="javascript:window.pwned=1">x</a>)x",
    R"x(<form action="javascript:window.pwned=1"><button>x</button></form>)x",
    R"x(<base href="http://127.0.0.1:9/">)x",
    R"x(<link rel=stylesheet href="http://127.0.0.1:9/x.css">)x",
    R"x(<meta http-equiv=refresh content="0;url=http://127.0.0.1:9/">)x",
    R"x(<style>body{display:none}</style>)x",
    R"x(</style><script>window.pwned=1</script>)x",
    R"x(<style>@import "http://127.0.0.1:9/x.css";</style>)x",
    R"x(<div style="background:url(http://127.0.0.1:9/x)">)x",
    R"x(<details open ontoggle=window.pwned=1>)x",
    R"x(<video><source onerror=window.pwned=1></video>)x",
    R"x(<audio src=x onerror=window.pwned=1>)x",
    R"x(<input autofocus onfocus=window.pwned=1>)x",
    R"x(<select autofocus onfocus=window.pwned=1>)x",
    R"x(<textarea></textarea><script>window.pwned=1</script>)x",
    R"x(</title><script>window.pwned=1</script>)x",
    R"x(</noscript><script>window.pwned=1</script>)x",
    R"x(</template><script>window.pwned=1</script>)x",
    R"x(<template><script>window.pwned=1</script></template>)x",
    R"x(<math><mtext><script>window.pwned=1</script></mtext></math>)x",
    R"x(<marquee onstart=window.pwned=1>)x",
    R"x(<plaintext>)x",
    R"x(<xmp><script>window.pwned=1</script></xmp>)x",
    R"x(" onmouseover="window.pwned=1)x",
    R"x(' onmouseover='window.pwned=1)x",
    R"x(" autofocus onfocus=window.pwned=1 x=")x",
    R"x("><script>window.pwned=1</script>)x",
    R"x('><script>window.pwned=1</script>)x",
    R"x(x" data-v="1" onclick="window.pwned=1)x",
    R"x(`onmouseover=window.pwned=1)x",
    R"x(&lt;script&gt;window.pwned=1&lt;/script&gt;)x",
    R"x(&#60;script&#62;window.pwned=1&#60;/script&#62;)x",
    R"x(&quot; onmouseover=&quot;window.pwned=1)x",
    R"x(&amp;lt;script&amp;gt;)x",
    R"x(\u003cscript\u003ewindow.pwned=1\u003c/script\u003e)x",
    R"x(\x3cscript\x3ewindow.pwned=1)x",
    R"x("};window.pwned=1;//)x",
    R"x("]};window.pwned=1;//)x",
    R"x(\";window.pwned=1;//)x",
    R"x(\)x",
    R"x(${window.pwned=1})x",
    R"x({{constructor.constructor('window.pwned=1')()}})x",
    R"x(javascript:window.pwned=1)x",
    R"x(data:text/html,<script>window.pwned=1</script>)x",
    R"x(url(http://127.0.0.1:9/x))x",
    R"x(url("#x") ; background:red)x",
    R"x(__proto__)x",
    R"x(constructor)x",
    R"x(toString)x",
    R"x(<SCRIPT SRC=http://127.0.0.1:9/x.js></SCRIPT>)x",
    R"x(<ScRiPt>window.pwned=1</sCrIpT>)x",
    R"x(<script/x>window.pwned=1</script/x>)x",
    R"x(<<script>window.pwned=1//<</script>)x",
    R"x(<tr><td>x</td></tr></table><script>window.pwned=1</script>)x",
    R"x(</details></section></main></body></html><script>window.pwned=1</script>)x",
    "nul\0 in <b>the</b> middle"sv,
    "\t\n\r<b>\v\f",
    "\x1b[31mred\x1b[0m\x07",
    "\x7f\xc2\x85\xc2\x9b",
    "\xff\xfe<script>\x80window.pwned=1",
    "\xc3",
    "\xc0\xbcscript\xc0\xbe",
    "\xed\xa0\x80\xed\xb0\x80",
    "\xf4\x90\x80\x80<b>",
    "\xe2\x80\xae"
    "txt.exe\xe2\x80\xac",
    "\xe2\x81\xa6"
    "abc\xe2\x81\xa9",
    "\xe2\x80\xa8"
    "window.pwned=1\xe2\x80\xa9",
    "\xef\xbb\xbf<script>window.pwned=1</script>",
    "\xe2\x80\x8bzero\xe2\x80\x8dwidth",
    "\xef\xbc\x9c"
    "script\xef\xbc\x9e",
    "\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d",
    "\xf0\x9f\x94\xa5 fire",
    "+ADw-script+AD4-window.pwned=1",
};

}  // namespace

std::vector<std::string> XssCorpus() {
  std::vector<std::string> corpus(std::begin(kCorpus), std::end(kCorpus));
  corpus.push_back(std::string(100'000, '<'));
  corpus.push_back(std::string(5'000, '"'));
  corpus.push_back("");
  return corpus;
}

}  // namespace crosscut::report
