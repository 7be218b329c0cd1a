namespace Kv.Storage;

/// <summary>Fields and values of an entry that is to be added.</summary>
internal interface IStreamItems
{
    int Fields { get; }

    ReadOnlySpan<byte> Field(int index);

    ReadOnlySpan<byte> Value(int index);
}
