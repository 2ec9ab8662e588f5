/* `cubinspec.format._start`: makes a module that mypyc has compiled, for `cubinspec/cli/bundle.py`.

   mypyc puts all modules into one library, with a capsule for the function that makes each, and
   writes a small library for each module, through which Python finds it. To load forty of these takes
   longer than a small link. This module is in the library, too. */
#include <Python.h>

typedef PyObject *(*Make)(void);

static PyObject *start(PyObject *Py_UNUSED(module), PyObject *capsule)
{
    const char *name = PyCapsule_GetName(capsule);
    if (name == NULL)
        return NULL;
    Make make = (Make)PyCapsule_GetPointer(capsule, name);
    return make == NULL ? NULL : make();
}

static PyMethodDef methods[] = {
    {"start", start, METH_O, "The module that the function in a capsule makes."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "_start", .m_size = -1, .m_methods = methods,
};

PyMODINIT_FUNC PyInit__start(void)
{
    return PyModule_Create(&definition);
}
