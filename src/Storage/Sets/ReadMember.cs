namespace Kv.Storage;

/// <summary>Whether a set has a member.</summary>
internal ref struct ReadMember : IValueRead
{
    private readonly ReadOnlySpan<byte> _member;
    private readonly ref readonly KeyHash _hash;

    public ReadMember(ReadOnlySpan<byte> member, ref readonly KeyHash hash)
    {
        _member = member;
        _hash = ref hash;
    }

    public bool IsMember { get; private set; }

    public void Read(in ValueView value) => IsMember = new SetView(value, in _hash).Contains(_member);
}
