using System.Diagnostics;
using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

//  table, (length of a + 1) x (length of b + 1) cells of 32 bits, row after row; row 0 and column 0 are zeros:
//
//            b[0] b[1] ...      cell (i, j): length of the longest common subsequence of a[..i] and b[..j]
//         0   0    0            one more than (i-1, j-1) where a[i-1] = b[j-1], else the larger of (i-1, j) and (i, j-1)
//   a[0]  0  >>>>>>>>>   filled to the right and down; then walked from the last cell back to row or column 0

/// <summary>Finds the longest common subsequence of two strings, some 100,000 cells a step.</summary>
/// <remarks>
/// The table is charged to the store, and refused beyond proto-max-bulk-len as in Redis: 512 MB are 134 M cells. Redis
/// runs one search at a time; here the bound is for all tables together, except those that one step fills. Strings of
/// over 64 KB are kept by reference, shorter ones copied, so that writers go on meanwhile.
/// </remarks>
internal sealed unsafe class LcsSearch(StoreSession session) : ICommandSteps, IDisposable
{
    private const int CellsPerStep = 128 * 1024;

    /// <summary>Tables up to this size do not outlive the turn.</summary>
    private const long FreeBytes = CellsPerStep * sizeof(uint);

    private readonly List<LcsMatch> _matches = [];
    private SharedAllowance? _allowance;
    private long _allowed;
    private Block _table;
    private int _row = 1, _column = 1;
    private int _traceRow, _traceColumn, _run;
    private int _length;

    /// <summary>The two strings, to be read before the search runs.</summary>
    public LcsTexts Texts = new(session);

    public bool RepliesMatches { get; set; }

    public bool RepliesLength { get; set; }

    public bool RepliesMatchLengths { get; set; }

    /// <summary>Shorter matches are left out of the reply.</summary>
    public long MatchLengthMin { get; set; }

    /// <summary>Writes the reply now if the table is small or refused; else leaves the rest to later turns.</summary>
    public void Run(ref CommandContext context)
    {
        if (!TryAllocate(ref context))
        {
            Dispose();
            return;
        }

        try
        {
            if (!Step(ref context)) context.Continue(this);
        }
        catch
        {
            Dispose();      // its share of the bound for all tables comes back whatever happens
            throw;
        }
    }

    /// <inheritdoc/>
    public bool Holds => false;

    /// <inheritdoc/>
    public bool Step(ref CommandContext context)
    {
        int cells = CellsPerStep;
        if (!TryFill(ref cells) || !TryTrace(cells)) return false;
        Reply(context.Reply);
        Dispose();
        return true;
    }

    /// <summary>Gives table and strings back; also when the client has gone before the end.</summary>
    public void Dispose()
    {
        if (!_table.IsNone) session.Release(_table);
        _table = default;
        _allowance?.Give(_allowed);
        _allowance = null;
        Texts.Restart();
    }

    private bool TryAllocate(ref CommandContext context)
    {
        Debug.Assert(_table.IsNone && _allowed == 0, "what is taken is given back once");
        long a = Texts.First.Length, b = Texts.Second.Length;
        if (a == 0 || b == 0) return true;

        long bytes = (a + 1) * (b + 1) * sizeof(uint);      // each below 2^30: no overflow
        var store = context.Server.Store;
        if (bytes > context.Server.Limits.MaxBulkBytes)
        {
            context.Fail("ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len"u8);
            return false;
        }

        if (bytes > FreeBytes)
        {
            if (!context.Server.LcsTables.TryTake(bytes, context.Server.Limits.MaxBulkBytes))
            {
                context.Fail(
                    "ERR Insufficient memory, transient memory for LCS of all clients together exceeds "u8
                    + "proto-max-bulk-len"u8);
                return false;
            }

            _allowance = context.Server.LcsTables;
            _allowed = bytes;
        }

        // Zeroed: the first row and column are not written.
        // A small one is gone with the turn: reading goes on above maxmemory.
        if (bytes <= FreeBytes || store.Budget.HasRoomFor(bytes)) _table = session.AllocateBlock(bytes, isZeroed: true);
        if (_table.IsNone)
        {
            context.Fail("ERR Insufficient memory, failed allocating transient memory for LCS"u8);
            return false;
        }

        session.ChargeBlock(_table, bytes);
        return true;
    }

    /// <summary>Fills cells of the table, from where the last step ended.</summary>
    private bool TryFill(ref int cells)
    {
        Debug.Assert(_row > 0 && _column > 0, "row 0 and column 0 stay zeros");
        if (_table.IsNone) return true;
        var a = Texts.First;
        var b = Texts.Second;
        while (_row <= a.Length)
        {
            if (cells <= 0) return false;
            int end = (int)Math.Min(b.Length + 1L, (long)_column + cells);
            FillRow(Row(_row - 1), Row(_row), a[_row - 1], b, _column, end);
            cells -= end - _column;
            _column = end;
            if (end <= b.Length) continue;
            _row++;
            _column = 1;
        }

        if (_traceRow == 0)
        {
            _length = (int)Row(a.Length)[b.Length];
            (_traceRow, _traceColumn) = (a.Length, b.Length);
        }

        return true;
    }

    private static void FillRow(ReadOnlySpan<uint> above, Span<uint> row, byte letter, ReadOnlySpan<byte> b,
        int start, int end)
    {
        Debug.Assert(start > 0 && end <= row.Length && above.Length == row.Length, "the cells are of the table");
        uint left = row[start - 1];
        for (int j = start; j < end; j++)
        {
            left = b[j - 1] == letter ? above[j - 1] + 1 : Math.Max(above[j], left);
            row[j] = left;
        }
    }

    /// <summary>Walks back along the longest subsequence and notes its runs, the last one first.</summary>
    private bool TryTrace(int cells)
    {
        if (_length == 0 || (RepliesLength && !RepliesMatches)) return true;
        var a = Texts.First;
        var b = Texts.Second;
        while (_traceRow > 0 && _traceColumn > 0)
        {
            if (cells-- <= 0) return false;
            if (a[_traceRow - 1] == b[_traceColumn - 1])
            {
                _traceRow--;
                _traceColumn--;
                _run++;
                continue;
            }

            EndRun();
            if (Row(_traceRow - 1)[_traceColumn] > Row(_traceRow)[_traceColumn - 1]) _traceRow--;
            else _traceColumn--;
        }

        EndRun();
        return true;
    }

    private void EndRun()
    {
        Debug.Assert(_traceRow >= 0 && _traceColumn >= 0, "a match is within both strings");
        if (_run > 0) _matches.Add(new LcsMatch(_traceRow, _traceColumn, _run));
        _run = 0;
    }

    private Span<uint> Row(int index)
    {
        Debug.Assert(index >= 0 && index <= Texts.First.Length, "the table has such a row");
        int width = Texts.Second.Length + 1;
        return new Span<uint>(_table.Content + ((long)index * width * sizeof(uint)), width);
    }

    private void Reply(ReplyWriter reply)
    {
        if (RepliesMatches) ReplyMatches(reply);
        else if (RepliesLength) reply.WriteInteger(_length);
        else ReplySubsequence(reply);
    }

    private void ReplyMatches(ReplyWriter reply)
    {
        int count = 0;
        foreach (var match in _matches)
            if (match.Length >= MatchLengthMin) count++;

        reply.WriteMap(2);
        reply.WriteBulk("matches"u8);
        reply.WriteArray(count);
        foreach (var match in _matches)
        {
            if (match.Length < MatchLengthMin) continue;
            reply.WriteArray(RepliesMatchLengths ? 3 : 2);
            ReplyRange(reply, match.First, match.Length);
            ReplyRange(reply, match.Second, match.Length);
            if (RepliesMatchLengths) reply.WriteInteger(match.Length);
        }

        reply.WriteBulk("len"u8);
        reply.WriteInteger(_length);
    }

    private static void ReplyRange(ReplyWriter reply, int start, int length)
    {
        Debug.Assert(start >= 0 && length > 0, "a match has letters");
        reply.WriteArray(2);
        reply.WriteInteger(start);
        reply.WriteInteger(start + length - 1);
    }

    private void ReplySubsequence(ReplyWriter reply)
    {
        var body = reply.BeginBulk(_length);
        int end = _length;
        foreach (var match in _matches)
        {
            Texts.First.Slice(match.First, match.Length).CopyTo(body[(end - match.Length)..]);
            end -= match.Length;
        }

        Debug.Assert(end == 0, "the matches make up the whole subsequence");
    }
}
