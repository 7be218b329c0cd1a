namespace Kv.Tests.Models;

/// <summary>The model reached a state that must not be.</summary>
internal sealed class ModelException(string what) : Exception(what);
