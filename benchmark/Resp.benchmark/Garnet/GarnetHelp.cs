using RespBenchmark.CommandLine;

namespace RespBenchmark.Garnet;

/// <summary>What <c>--help</c> says in Garnet's grammar.</summary>
internal static class GarnetHelp
{
    public const string Text = $"""
        Resp.benchmark in the grammar of Garnet's Resp.benchmark: throughput by sessions and batch, or latency online.
          --op GET -t 1,2,4 -b 1 --dbsize 1024          throughput: loads, then 15 s for each session count
          --online --op-workload GET,SET --op-percent 80,20 -t 64 -b 1 --runtime 35      latency: 35 rows of 2 s

        Server
          -h, --host HOST (127.0.0.1)   -p, --port N (6379)   -a, --auth PASSWORD   --clientaddr ADDRESS
          --tls   --tlshost NAME (GarnetTest)   --cert-file-name F   --cert-password P   --insecure
        What is sent
          --op NAME (GET)        GET SET SETEX DEL INCR MGET MSET PING DBSIZE PFADD MPFADD PFCOUNT PFMERGE ZADD ZREM ZADDREM
                                 ZCARD ZADDCARD GEOADD GEOADDREM SETBIT GETBIT BITCOUNT BITPOS BITOP_AND|OR|XOR|NOT BITFIELD
                                 BITFIELD_GET|SET|INCR PUBLISH SPUBLISH SCRIPTSET SCRIPTGET SCRIPTRETKEY SETIFPM MYDICTSET MYDICTGET
          --dbsize N (1024)      keys          --keylength N (8; 0: digits of dbsize)   --valuelength N (8; 0: the key)
          --zipf                 keys by zipf 0.99 instead of evenly
          --ttl S (0)            for SETEX, and for ZADD's key online
          --totalops N           shown with the batches; it does not bound a run
        How much of it
          -t, --threads LIST     session counts, a cell each (1,2,4,8,16,32): connections, not threads
          -b, --batchsize LIST   operations a session sends together (4096); also --pipeline
          --runtime S (15)       seconds a cell; online rows of 2 s; 0: load only; -1: until interrupted (online)
          -s, --skipload   --lset   --load-threads N (8)
        Online
          -o, --online   --op-workload LIST (GET,SET,DEL)   --op-percent LIST (60,30,10)   --sscardinality N
          --itp N (1)            operations outstanding per session; the latency is the group's
          --burst                send without waiting; no latency
          --client LightClient|GarnetClientSession|GarnetClient|SERedis   (SERedis: StackExchange.Redis; --pool: one each)
          --file-logger F   --disable-console-logger   --logger-level LEVEL
          --save-freq S          a SAVE every S seconds
          --online-sweep on|off  every session count of the list, or the first only (on)
        Accepted without effect: --sync --client-hist --object-dbsize N
        Refused: the options of a server inside the tool, of transactions (--txn) and of clusters (--cluster-bench)
          --garnet-format 1|2    the result's labels: as in 2024, or as since February 2026

        {Extras.Help}

        """;
}
