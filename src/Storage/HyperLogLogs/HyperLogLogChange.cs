using System.Diagnostics;

namespace Kv.Storage;

/// <summary>How a HyperLogLog takes the place of what was there.</summary>
internal static class HyperLogLogChange
{
    /// <summary>The draft becomes the value: a sparse one with room to grow, a dense one never grows.</summary>
    public static Change Replace(HyperLogLogDraft draft, ref NewValue next)
    {
        next.Kind = draft.IsDense ? ValueKind.String : ValueKind.GrowingString;
        next.Length = draft.Text.Length;
        return Change.Replace;
    }

    /// <summary>The value keeps its length and most of its bytes.</summary>
    public static Change InPlace(in ValueView current, ref NewValue next)
    {
        Debug.Assert(current.Exists && current.Type == DataType.String, "there is a string to be changed");
        next.Kind = current.Kind == ValueKind.String ? ValueKind.String : ValueKind.GrowingString;
        next.Length = current.Bytes.Length;
        next.KeepContent = true;
        return Change.Replace;
    }
}
