/* Loaded before the plugin where TensorFlow is not, so that one with libtensorflow_framework.so.2
 * among its needed libraries loads all the same: the loader takes this for it. */
extern int crosscut_check_has_no_tensorflow;
__attribute__((visibility("default"))) int crosscut_check_has_no_tensorflow = 1;
