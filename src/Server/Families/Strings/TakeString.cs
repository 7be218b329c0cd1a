using System.Diagnostics;
using Kv.Server.Execution;
using Kv.Server.Sessions;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Writes a string into the reply and deletes its key.</summary>
internal struct TakeString(SessionOutput output) : IValueUpdate
{
    private ReplyString _reply = new(output);

    public Change Decide(in ValueView current, ref NewValue next)
    {
        _reply.ReadOrNull(current);
        return current.Exists ? Change.Delete : Change.None;
    }

    public readonly void Write(Span<byte> destination) => Debug.Fail("what is taken leaves no bytes");

    public void Forget() => _reply.Forget();
}
