namespace Kv.Storage;

/// <summary>How far a string has been expanded: bytes of the input that were read, bytes that were written.</summary>
internal readonly record struct LzfPlace(int From, int To);

/// <summary>A string that is being compressed: where it and the output are, and how far each has come.</summary>
internal unsafe struct LzfRun
{
    public byte* Start, From, End, Output, To, OutputEnd;
    public int Literals;

    /// <summary>Bytes of the output, at the end; 0 when there was no room.</summary>
    public int Written;
}
