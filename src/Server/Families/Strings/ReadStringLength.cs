using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>The length of a string.</summary>
internal struct ReadStringLength : IValueRead
{
    public long Length;

    public void Read(in ValueView value) => Length = value.StringLength;
}
