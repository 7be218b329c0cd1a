namespace Kv.Storage;

/// <summary>An end of a list.</summary>
public enum ListEnd : byte
{
    /// <summary>Where the first element is, index 0.</summary>
    Left = 0,

    /// <summary>Where the last element is, index -1.</summary>
    Right = 1,
}
