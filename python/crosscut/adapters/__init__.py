"""What Crosscut adds to the libraries that a recorded program imports.

The contract of an adapter, a module of this package that is a name in ADAPTERS:

install    The function of a row is called with the module of that row, right after its code ran,
           at once where it is imported already, and again where it is reloaded. It puts hooks in
           place and must leave the module's own behaviour, names, signatures and exceptions as they
           are. What it raises is told in the table `sources`, and never reaches the import.
steps      Operations and steps that it finds are marked as found (operations.Operations, which
           needs operations.add_source() first), so that what the program itself declares has
           precedence.
withdraw   withdraw() takes back what was put in place, until `install` is called again. Called in
           the process that installed it, while nothing is recorded. What stands for attributes of
           others is put there and taken back by _patches.Patches: what the program put over it
           stays, and so does what another thread is in until that has ended.
threads    All of it is called under the GIL; time that it takes is layer `overhead`. What it puts
           in place runs on any thread of the program, in control steps and after a fork, too.
imports    The module imports nothing but the standard library and Crosscut at its top: it runs in
           processes in which its library is half imported.
"""

# The module whose import calls an adapter: the adapter, and its function. In the order in which one
# may build on another; they are withdrawn in the opposite one.
ADAPTERS = {
    "torch": ("torch", "install"),
    "torch.autograd.profiler": ("torch_profiler", "install"),
    "torch.distributed.distributed_c10d": ("torch_distributed", "install"),
    "tensorflow.python.eager.context": ("tensorflow", "install_context"),
    "tensorflow.python.eager.polymorphic_function.polymorphic_function":
        ("tensorflow", "install_functions"),
    "tensorflow.python.eager.polymorphic_function.concrete_function":
        ("tensorflow", "install_graphs"),
    "tensorflow.python.distribute.mirrored_run": ("tensorflow", "install_replicas"),
    "tensorflow.python.eager.polymorphic_function.tracing_compilation":
        ("tensorflow", "install_tracing"),
    "tensorflow.python.eager.backprop": ("tensorflow", "install_tape"),
    "tensorflow.python.data.ops.iterator_ops": ("tensorflow", "install_iterators"),
    "tensorflow.python.training.optimizer": ("tensorflow", "install_optimizer"),
    "keras.src.optimizers.base_optimizer": ("tensorflow", "install_keras_optimizer"),
    "keras.src.backend.tensorflow.trainer": ("tensorflow", "install_trainer"),
    "jax._src.xla_bridge": ("jax", "install_backends"),
    "jax._src.profiler": ("jax", "install_profiler"),
    "jax._src.compiler": ("jax", "install_compiler"),
    "jax._src.pjit": ("jax", "install_jit"),
    "jax._src.callback": ("jax", "install_callbacks"),
    "jax._src.debugging": ("jax", "install_callbacks"),
    "gymnasium.core": ("gymnasium", "install_environments"),
    "gymnasium.vector.vector_env": ("gymnasium", "install_vectors"),
    "stable_baselines3.common.base_class": ("stable_baselines3", "install_algorithms"),
    "stable_baselines3.common.policies": ("stable_baselines3", "install_policies"),
    "stable_baselines3.common.vec_env.base_vec_env": ("stable_baselines3", "install_vectors"),
    "lightgbm.basic": ("boosting", "install_lightgbm"),
    "xgboost.core": ("boosting", "install_xgboost"),
    "sklearn.ensemble._gb": ("boosting", "install_stages"),
    "sklearn.neural_network._stochastic_optimizers": ("boosting", "install_networks"),
    "sklearn._loss.loss": ("boosting", "install_losses"),
    "transformers.trainer": ("trainers", "install_transformers"),
    "lightning.pytorch.loops.evaluation_loop": ("trainers", "install_evaluation"),
    "lightning.pytorch.trainer.trainer": ("trainers", "install_lightning"),
    "pytorch_lightning.loops.evaluation_loop": ("trainers", "install_evaluation"),
    "pytorch_lightning.trainer.trainer": ("trainers", "install_lightning"),
    "trl.trainer.grpo_trainer": ("trl", "install_grpo"),
    "trl.trainer.rloo_trainer": ("trl", "install_rloo"),
    "trl.generation.vllm_generation": ("trl", "install_vllm"),
    "IPython.core.interactiveshell": ("notebooks", "install"),
    "multiprocessing.process": ("processes", "install"),
    "socketserver": ("servers", "install"),
    "asyncio.base_events": ("tasks", "install_loops"),
    "asyncio.streams": ("tasks", "install_streams"),
    "concurrent.futures.thread": ("tasks", "install_pools"),
    "uvicorn.protocols.http.h11_impl": ("uvicorn", "install"),
    "uvicorn.protocols.http.httptools_impl": ("uvicorn", "install"),
    "grpc._server": ("grpc", "install_threads"),
    "grpc._utilities": ("grpc", "install_handlers"),
    "ray._private.services": ("ray", "install_services"),
    "ray._private.function_manager": ("ray", "install_manager"),
    "ray._private.worker": ("ray", "install_worker"),
    "ray._private.object_ref_generator": ("ray", "install_generators"),
    "ray.remote_function": ("ray", "install_functions"),
    "ray.actor": ("ray", "install_actors"),
}
NAMES = tuple(dict.fromkeys(adapter for adapter, _ in ADAPTERS.values()))
