namespace Kv.Storage;

internal readonly unsafe struct CopyMembers(ElementBuffer members) : IElementSink, IMemberVisit
{
    public void Write(ReadOnlySpan<byte> member) => members.Add(member);

    public void Visit(byte* item) => members.Add(MemberItem.MemberOf(item));
}
