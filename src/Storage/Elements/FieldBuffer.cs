namespace Kv.Storage;

/// <summary>Fields with their values, copied out of a hash as of one instant, or to be set as one step.</summary>
/// <inheritdoc cref="ElementBuffer" path="/remarks"/>
public sealed class FieldBuffer : IPairSink, IDisposable
{
    private readonly ElementBuffer _elements = new();

    /// <summary>How many fields there are.</summary>
    public int Count => _elements.Count / 2;

    internal ElementBuffer Elements => _elements;

    /// <summary>The name of a field; valid until the buffer is next filled, emptied or disposed.</summary>
    /// <param name="index">From 0 to <see cref="Count"/> - 1.</param>
    public ReadOnlySpan<byte> Field(int index) => _elements[2 * index];

    /// <summary>The value of a field, valid as long as its name.</summary>
    /// <inheritdoc cref="Field" path="/param"/>
    public ReadOnlySpan<byte> Value(int index) => _elements[(2 * index) + 1];

    void IPairSink.Write(ReadOnlySpan<byte> field, ReadOnlySpan<byte> value) => Add(field, value);

    /// <summary>Adds a field after the others.</summary>
    public void Add(ReadOnlySpan<byte> field, ReadOnlySpan<byte> value)
    {
        _elements.Add(field);
        _elements.Add(value);
    }

    /// <summary>Forgets all.</summary>
    public void Clear() => _elements.Clear();

    /// <inheritdoc cref="ElementBuffer.Dispose"/>
    public void Dispose() => _elements.Dispose();

}
