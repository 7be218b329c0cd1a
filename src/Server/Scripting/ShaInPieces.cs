using System.Diagnostics;
using System.Security.Cryptography;
using System.Text;
using Kv.Lua;

namespace Kv.Server.Scripting;

/// <summary>redis.sha1hex of a long text: a piece at a time; the script may be put aside between two of
/// them.</summary>
/// <remarks>A machine has one: nothing else of the script runs until it is done. Threads: the machine's.</remarks>
internal sealed class ShaInPieces
{
    /// <summary>Shorter texts are done at once; some 0.1 ms.</summary>
    public const int PieceBytes = 128 << 10;

    private readonly LuaRest _rest;
    private IncrementalHash? _hash;
    private int _done;

    public ShaInPieces() => _rest = new LuaRest(GoOn);

    public int Begin(ref LuaCall call, LuaString text)
    {
        _hash?.Dispose();       // of a script that was ended in between
        _hash = IncrementalHash.CreateHash(HashAlgorithmName.SHA1);
        _done = 0;
        return GoOn(ref call, text);
    }

    private int GoOn(ref LuaCall call) => GoOn(ref call, call[0].AsString!);

    private int GoOn(ref LuaCall call, LuaString text)
    {
        Debug.Assert(_done <= text.Length, "each piece is taken once");
        // Ends: each round takes a piece.
        while (_done < text.Length)
        {
            if (call.IsOverBudget) return call.Pause(_rest);
            int length = Math.Min(PieceBytes, text.Length - _done);
            _hash!.AppendData(text.Span.Slice(_done, length));
            _done += length;
            call.Spend(length >> 4);
        }

        Span<byte> hash = stackalloc byte[SHA1.HashSizeInBytes];
        _hash!.GetHashAndReset(hash);
        _hash.Dispose();
        _hash = null;
        return call.Return(call.Text(Encoding.ASCII.GetBytes(ScriptSha.OfHash(hash).ToString())));
    }
}
