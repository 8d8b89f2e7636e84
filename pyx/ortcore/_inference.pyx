# cython: language_level=3, freethreading_compatible=True, auto_pickle=False
"""What of InferenceSession is called again and again. ortcore.session adds the rest."""
from ortcore._binding cimport IOBinding
from ortcore._session cimport NativeSession

from ortcore._errors import WrongClass


cdef class SessionBase:

    cdef NativeSession native(self):
        if self._sess is None:
            raise AttributeError("this session has let go of its model, at the end of its `with` statement; load it again")
        return self._sess

    def _native(self):
        return self.native()

    def run(self, output_names, input_feed, run_options=None):
        """Runs the model and returns the outputs as a list.

        Args:
            output_names: names of the wanted outputs in the wanted order; None or [] for all of them in the model's.
            input_feed: {name: value}. A value is an array (or any object with `__dlpack__`, the buffer protocol or `__array_interface__`), an
                OrtValue, a nested list, a list of arrays for a sequence, a dict for a map, or None for an optional input or to leave an
                initializer as it is. Contiguous arrays are read in place; nothing is cast.
            run_options: a RunOptions.

        Outputs are arrays in memory of their own, lists for sequences, dicts for maps, None for empty optionals. Any number of threads may call
        this at once; the GIL is released while the model runs.

        Raises:
            ValueError: a required input is missing.
            InvalidArgument: a name, element type, rank or dim is not the model's; its message says which.
        """
        return self.native().run_feed(output_names, input_feed, run_options, False)

    def run_with_ort_values(self, output_names, input_dict_ort_values, run_options=None):
        """As run(), but returns OrtValues."""
        return self.native().run_feed(output_names, input_dict_ort_values, run_options, True)

    def run_with_iobinding(self, iobinding, run_options=None):
        """Runs the model on the memory that a binding of this session says. See IOBinding.

        Before the first step everything is checked again, and nothing is written if anything is wrong; after a later failure the contents of
        bound outputs are undefined, unless the run option `stage_outputs` is '1'.
        """
        if not isinstance(iobinding, IOBinding):
            raise WrongClass(f"run_with_iobinding takes an IOBinding, not {type(iobinding).__name__}; session.io_binding() makes one")
        (<IOBinding>iobinding).run(self.native(), run_options)

    def io_binding(self):
        """A new IOBinding for this session, with nothing bound."""
        return IOBinding(self.native())
