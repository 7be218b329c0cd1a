using System.Diagnostics;
using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Server.Sessions;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Writes several strings into the reply; nil for a key without a string.</summary>
internal readonly struct ReplyStrings(SessionOutput output, int count) : IManyRead
{
    private readonly ReplyMark _mark = output.Reply.Mark();

    public void Restart()
    {
        output.Rewind(_mark);
        output.Reply.WriteArray(count);
    }

    public void Read(int index, in ValueView value)
    {
        Debug.Assert((uint)index < (uint)count, "as many are read as are announced");
        if (value.Exists && value.Type == DataType.String) ReplyString.Write(output, value);
        else output.Reply.WriteNull();
    }
}
