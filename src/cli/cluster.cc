// map, reduce.
#include <filesystem>
#include <memory>
#include <utility>

#include "src/cli/commands.h"
#include "src/cli/python.h"
#include "src/cli/values.h"
#include "src/verbs/output.h"

namespace crosscut::cli {
namespace {

struct ClusterArgs {
  std::vector<std::string> sources;
  std::string output, job, engine = "local", memory = "2048";
  unsigned workers = 0;
};

std::vector<std::string> OptionsOf(const ClusterArgs& args) {
  std::vector<std::string> words = {"--output=" + args.output};
  if (!args.job.empty()) words.push_back("--job=" + args.job);
  if (args.workers != 0) words.push_back("--workers=" + std::to_string(args.workers));
  return words;
}

// What both verbs take.
std::vector<Argument> Shared(ClusterArgs* args) {
  return {{"--job ID", &args->job, "what the job is called, where its runs do not say it"},
          {"--workers N", &args->workers, "processes at once; default one per processor",
           Rules{.check = WholeNumber(1, 4096)}}};
}

int RunMaking(const char* verb, const ClusterArgs& args, const std::vector<std::string>& options) {
  const Status refused = verbs::RefuseInput(args.output, args.sources);
  return refused.ok() ? RunOnCluster(verb, options, args.sources) : Fail(refused);
}

}  // namespace

bool IsCluster(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(std::filesystem::path(path) / "cluster.json", error);
}

int RunOnCluster(std::string verb, std::vector<std::string> options,
                 const std::vector<std::string>& inputs) {
  options.insert(options.begin(), std::move(verb));
  options.emplace_back("--");
  options.insert(options.end(), inputs.begin(), inputs.end());
  return RunPython(options);
}

Verb MapVerb() {
  const auto args = std::make_shared<ClusterArgs>();
  Verb verb("map", "Many ranks", "crosscut map RUN -o PARTS",
            "Keep what is bounded of each run: a partial");
  verb.Take({
      {"RUN ...", &args->sources,
       "run directories, folders with runs in them, or other tools' traces.\n"
       "Needs the extra crosscut[cluster]",
       Rules{.required = true}},
      {"-o DIR", &args->output, "where to write the partials: a folder, or a URI of a store",
       Rules{.required = true}},
  });
  verb.Take(Shared(args.get()));
  verb.run = [=] { return RunMaking("map", *args, OptionsOf(*args)); };
  return verb;
}

Verb ReduceVerb() {
  const auto args = std::make_shared<ClusterArgs>();
  Verb verb("reduce", "Many ranks", "crosscut reduce PARTS -o CLUSTER",
            "Put the ranks of a job together: a cluster");
  verb.Take({
      {"SRC ...", &args->sources,
       "partials, folders or stores of partials, and runs, which are mapped first.\n"
       "Needs the extra crosscut[cluster]",
       Rules{.required = true}},
      {"-o CLUSTER", &args->output, "the cluster folder to write; made if absent",
       Rules{.required = true}},
      {"--on ENGINE", &args->engine,
       "where runs are mapped: local (default), or ray: by the nodes of a\n"
       "Ray cluster, where their files lie",
       Rules{.words = {"local", "ray"}, .only = "engine"}},
      {"--memory SIZE", &args->memory,
       "what the database may hold, beyond which it uses files; default 2GB",
       Rules{.check = Mebibytes(64, 1 << 24)}},
  });
  verb.Take(Shared(args.get()));
  verb.run = [=] {
    auto words = OptionsOf(*args);
    words.push_back("--on=" + args->engine);
    words.push_back("--memory=" + args->memory);
    return RunMaking("reduce", *args, words);
  };
  return verb;
}

}  // namespace crosscut::cli
