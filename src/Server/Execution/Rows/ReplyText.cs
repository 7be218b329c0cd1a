using System.Text;
using Kv.Protocol;

namespace Kv.Server.Execution;

/// <summary>Writes the names and texts of rows, which are strings of ASCII; not for data.</summary>
internal static class ReplyText
{
    public static void WriteBulk(this ReplyWriter reply, string text) => reply.WriteBulk(Encoding.ASCII.GetBytes(text));

    public static void WriteSimple(this ReplyWriter reply, string text) =>
        reply.WriteSimple(Encoding.ASCII.GetBytes(text));

    /// <summary>Writes a set of simple strings, as COMMAND has flags.</summary>
    public static void WriteNames(this ReplyWriter reply, List<string> names)
    {
        reply.WriteSet(names.Count);
        foreach (string name in names) reply.WriteSimple(name);
    }
}
